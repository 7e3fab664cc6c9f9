# Owns a temporary folder and the process groups started for it, and removes both when its input ends.
#
# Its input is a pipe that nobody but the owner and the processes that are just being started hold, so that
# it ends exactly when the owner has dropped it or is dead, and no start is under way. The lines of the
# input are `started GROUP` and `ended GROUP`. $1 is the folder that gets the temporary folder.

# The owner decides when to end, not the terminal: it ends the input also when a signal kills it. And an owner
# that is dead before it could read the folder's name must not end the janitor by SIGPIPE.
trap '' HUP INT QUIT TERM PIPE
umask 077
dir=$(mktemp -d "$1/pointsman-XXXXXX") || exit 1
echo "$dir"
exec >/dev/null 2>&1

groups=' '
while read -r what group; do
    case $what in
    started) groups="$groups$group " ;;
    ended)
        case $groups in
        *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
        esac
        ;;
    esac
done

for group in $groups; do
    kill -s KILL -- "-$group"
done
# A process that is being killed may still create a file: try again until nothing is left, for 10 s.
tries=0
until rm -rf -- "$dir" || [ "$tries" -ge 200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
