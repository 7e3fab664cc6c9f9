# Registers its process group with the janitor, then becomes the program that is to run.
#
# Standard input is the janitor's pipe: as long as this process has it open, the janitor waits. So there is no
# moment at which the owner can die and leave a process that nobody knows of.
echo "started $$" >&0 && exec "$@" </dev/null
