# shellcheck shell=sh
# Releases a lock, and records that a run ended here. Arguments: the folder, the holder's token.
cd "$1" || exit 0
grep -qF "$2" lock/holder 2>/dev/null || exit 0
touch last
rm -rf lock
