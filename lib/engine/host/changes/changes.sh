# shellcheck shell=sh disable=SC2154,SC2317
# Makes several changes in order, up to the first that fails. It follows the functions __limit and, for each change, __steps1, __facts1,
# __steps2, … Arguments: a nonce, the number of changes.
# The facts of a change are what its check read. They are read again before the change: if an earlier change made a difference, it is
# not made. The first has no facts: nothing came before it.
# Prints `NONCE in FOLDER`, `NONCE start NUMBER` before each change, and `NONCE end NUMBER WHY STEP CODE`; WHY is done, failed,
# outdated, or stopped, by a file `stop` in the folder. The standard error of a failed step is on standard error.
__nonce=$1 __changes=$2
for __place in /dev/shm /run /tmp /var/tmp; do
  __d=$(mktemp -d "$__place/rpc-playbooks.XXXXXX" 2>/dev/null) && break
done
[ "$__d" ] || exit 75
trap 'rm -rf "$__d"' EXIT
trap 'exit 129' HUP INT TERM PIPE
echo "$__nonce in $__d"

# A secret is one line of standard input, in base64. `read` takes no byte beyond its line.
__secret() {
  IFS= read -r __line && printf %s "$__line" | base64 -d
}

# Arguments: number of the step, seconds, exit codes that are no failure with blanks around them, text.
__do() {
  __limit "$2" "$__nonce" "$4" >/dev/null 2>"$__d/error"
  __code=$?
  case $3 in *" $__code "*) return 0 ;; esac
  echo "$1 $__code" >"$__d/failed"
  return 1
}

# The facts of a change, with a line after the last of them: those that took too long are without it.
__read() {
  "__facts$1"
  echo "$__nonce"
}

# All facts before are under one time limit, as each limit costs some processes.
__before() {
  __n=2
  while [ "$__n" -le "$__changes" ]; do
    __read "$__n" >"$__d/facts$__n"
    __n=$((__n + 1))
  done
}
[ "$__changes" = 1 ] || __limit $((120 * __changes)) "$__nonce" __before </dev/null >/dev/null 2>&1

__n=1 __why='done 0 0'
while [ "$__n" -le "$__changes" ]; do
  [ ! -e "$__d/stop" ] || { __why='stopped 0 0' && break; }
  if [ "$__n" -gt 1 ]; then
    { __limit 120 "$__nonce" "__read $__n" 2>/dev/null </dev/null || echo late; } | cmp -s - "$__d/facts$__n" || { __why='outdated 0 0' && break; }
  fi
  echo "$__nonce start $__n"
  "__steps$__n" || {
    __why="failed $(cat "$__d/failed")"
    cat "$__d/error" >&2
    break
  }
  __n=$((__n + 1))
done
echo "$__nonce end $__n $__why"
