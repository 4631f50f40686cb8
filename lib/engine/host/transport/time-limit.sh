# shellcheck shell=sh disable=SC2154
# Runs a script with a time limit, on its own standard input. Arguments: seconds, a nonce, the script. It follows process-tree.sh.
# At the limit the script and all its processes get SIGTERM, then SIGKILL. The exit code is 124 then, and the last line of standard
# error is the nonce with `time limit`. The program `timeout` is not needed.
__seconds=$1 __nonce=$2
exec 3<&0
(
  exec <&3 3<&-
  __script=$3
  set --
  eval "$__script"
) &
__pid=$!
# The watcher counts seconds. Older shells may miss a signal on the way into `wait`: that costs one second at most.
(
  trap 'kill -9 $! 2>/dev/null; exit 0' TERM
  __passed=0
  while [ "$__passed" -lt "$__seconds" ]; do
    sleep 1 &
    wait $!
    kill -0 "$__pid" || exit 0
    __passed=$((__passed + 1))
  done
  trap '' TERM
  __all=$(__tree "$__pid")
  # shellcheck disable=SC2086
  kill -TERM $__all
  __passed=0
  while [ "$__passed" -lt "$__grace" ]; do
    sleep 1
    __alive=
    for __one in $__all; do kill -0 "$__one" && __alive=1; done
    [ "$__alive" ] || exit 9
    __passed=$((__passed + 1))
  done
  # shellcheck disable=SC2086
  kill -KILL $__all
  exit 9
) </dev/null >/dev/null 2>&1 3<&- &
__watcher=$!
exec 3<&-
wait "$__pid"
__code=$?
kill "$__watcher" 2>/dev/null
wait "$__watcher" 2>/dev/null
if [ $? = 9 ]; then
  echo "$__nonce time limit" >&2
  exit 124
fi
exit "$__code"
