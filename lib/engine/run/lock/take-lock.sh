# shellcheck shell=sh
# Takes the lock of a host. Argument: the folder. Its holder is on standard input. Prints `taken` and when a run last ended here, or
# `held`, the seconds since the last heartbeat, and the holder.
umask 077
mkdir -p "$1" && cd "$1" || exit 1
if mkdir lock 2>/dev/null; then
  # Without its holder the lock could never be released.
  cat >lock/holder && [ -s lock/holder ] || {
    rm -rf lock
    echo "$PWD cannot be written" >&2
    exit 1
  }
  echo taken
  stat -c %Y last 2>/dev/null || echo 0
elif [ -d lock ]; then
  echo held
  echo $(($(date +%s) - $(stat -c %Y lock/holder 2>/dev/null || date +%s)))
  [ ! -f lock/holder ] || head -c 4096 lock/holder
else
  mkdir lock
  exit 1
fi
