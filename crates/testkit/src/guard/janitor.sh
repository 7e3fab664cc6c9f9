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

# Whether one of the groups has a process that is not dead yet. Those that nobody has waited for do not count (state Z).
some_live() {
    for stat in /proc/[0-9]*/stat; do
        read -r stat <"$stat" || continue
        # Behind the name, which may have spaces in it: the state, the parent, the group.
        set -- ${stat##*) }
        case $groups in *" $3 "*) [ "$1" = Z ] || [ "$1" = X ] || return 0 ;; esac
    done
    return 1
}

for group in $groups; do
    kill -s KILL -- "-$group"
done
# A process that was killed dies when it gets a processor, and may create a file before: try again until nothing is left, for 10 s.
tries=0
until ! some_live && rm -rf -- "$dir" || [ "$tries" -ge 200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
