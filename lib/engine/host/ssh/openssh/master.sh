# shellcheck shell=sh
# Runs ssh as the master of a connection until descriptor 3 is closed, which the kernel does however the parent of this program ends. Arguments:
# a folder, which is removed at the end, and the command. Descriptor 0 has the answers to questions of ssh.
folder=$1
shift
exec 4<&0
"$@" <&4 3<&- 4<&- &
master=$!
{ read -r _; kill "$master"; } <&3 2>/dev/null 4<&- &
exec 2>/dev/null 3<&- 4<&-
wait "$master"
kill "$!"
rm -rf "$folder"
