# shellcheck shell=sh
# Takes a lock from its holder, if the holder still has it. Arguments: the folder, the holder's token, or nothing where it cannot be read.
cd "$1" || exit 0
if [ "$2" ]; then
  grep -qF "$2" lock/holder || exit 0
else
  # A lock that is just being taken has no holder yet. An unreadable one belongs to nobody.
  [ $(($(date +%s) - $(stat -c %Y lock || date +%s))) -gt 10 ] || exit 0
fi
mv lock "broken-$$" 2>/dev/null && rm -rf "broken-$$" || :
