# shellcheck shell=sh disable=SC2154
# Sends a file. It follows held-content.sh. Argument: the path. Exit code 66: there is no such file.
[ -f "$1" ] || exit 66
look_at_file "$1"
if [ "$whose" ]; then print_held; else cat -- "$1"; fi
