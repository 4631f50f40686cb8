# shellcheck shell=sh disable=SC2154,SC2317
# Makes several changes in order, up to the first that fails. It follows process-tree.sh, lane-watch.sh and the functions, for each
# change, __steps1, __conditions1, __same1, __steps2, … Arguments: a nonce, the number of changes, paths.
# The conditions of a change are what its check read: the state of files, which are among the paths, and the output of commands. They are
# looked at again before the change: if an earlier change made a difference, it is not made. Nothing came before the first.
# Prints `NONCE in FOLDER`, `NONCE start NUMBER` before each change, and `NONCE end NUMBER WHY STEP CODE`; WHY is done, failed,
# outdated, or stopped, by a file `stop` in the folder. The standard error of a failed step is on standard error. After a time limit
# it ends with the line `NONCE time limit`.
__nonce=$1 __changes=$2 __lanes=1
shift 2
for __place in /dev/shm /run /tmp /var/tmp; do
  __d=$(mktemp -d "$__place/rpc-playbooks.XXXXXX" 2>/dev/null) && break
done
[ "$__d" ] || { echo 'no room for temporary files in /dev/shm, /run, /tmp or /var/tmp' >&2 && exit 75; }
__watch </dev/null >/dev/null 2>&1 &
__watcher=$!
trap 'kill "$__watcher" 2>/dev/null; rm -rf "$__d"' EXIT
trap 'exit 129' HUP INT TERM PIPE
echo "$__nonce in $__d"

# A secret is one line of standard input, in base64. `read` takes no byte beyond its line.
__secret() {
  IFS= read -r __line && printf %s "$__line" | base64 -d
}

# Waits for the process that was just started, and after its time limit for the end of all its processes. Argument: the limit in seconds.
__follow() {
  __pid=$!
  echo "$__pid $__pid $1" >"$__d/lane0"
  wait "$__pid"
  __code=$?
  [ -e "$__d/late$__pid" ] || return "$__code"
  __waited=0
  while [ ! -e "$__d/killed$__pid" ] && [ "$__waited" -lt 10 ]; do
    sleep 1
    __waited=$((__waited + 1))
  done
  return 124
}

# In a shell of its own: the shell around it waits for it, and ends by a signal only afterwards.
# Arguments: number of the step, seconds, exit codes that are no failure with blanks around them, text.
__do() (
  # A process in the background has no standard input but a given one.
  { __eval "$4" <&3 3<&- >/dev/null 2>"$__d/error" & } 3<&0
  __follow "$2"
  __code=$?
  [ ! -e "$__d/late$__pid" ] || echo "$__nonce time limit" >>"$__d/error"
  case $3 in *" $__code "*) exit 0 ;; esac
  echo "$1 $__code" >"$__d/failed"
  exit 1
)

# The state of the paths that exist, a line for each, and a second for a link: that of its target. The time of the last change of any kind
# is in it, in a zone that no change moves. Where the kernel makes a content when it is read, the content is in it, too.
__format='%n|%d %i %f %u %g %s %z'
__stat() {
  __code=0
  [ $# = 0 ] || TZ=UTC0 stat -c "$__format" -- "$@" || __code=$?
  for __path; do
    __target=
    if [ -h "$__path" ]; then
      TZ=UTC0 stat -L -c "$__format" -- "$__path" || printf '%s|\n' "$__path"
      __target=$(readlink -f "$__path")
    fi
    [ -f "$__path" ] || continue
    case $__target in
      /sys/*) ;;
      *) [ ! -s "$__path" ] || continue ;;
    esac
    printf '%s|%s\n' "$__path" "$(sha256sum <"$__path")"
  done
  return "$__code"
} </dev/null 2>/dev/null

# Whether paths are as they were before the first change. A new file takes no program.
__same() {
  for __path; do
    shift
    if [ -e "$__path" ] || [ -h "$__path" ]; then
      set -- "$@" "$__path"
    else
      case $__were in *"$__newline$__path|"*) return 1 ;; esac
    fi
  done
  [ $# != 0 ] || return 0
  __are=$(__stat "$@") || return 1
  # Each line of it is one of those before. None of those is missing, as the number of lines follows from the first.
  set -f
  IFS=$__newline
  for __line in $__are; do
    case $__were in *"$__newline$__line$__newline"*) ;; *) set -- ;; esac
  done
  unset IFS
  set +f
  [ $# != 0 ]
}

# Reads the output of commands into a file for each change, with a line after the last of them: those that took too long are without it.
# A process that one of them has left running cannot delay a file. Arguments: the first and the last change, the start of the files' names.
__read() {
  __n=$1
  while [ "$__n" -le "$2" ]; do
    { "__conditions$__n" && echo "$__nonce"; } >"$__d/$3$__n"
    __n=$((__n + 1))
  done
}
__look() (
  __read "$@" </dev/null >/dev/null 2>&1 &
  __follow 120
)
__again() {
  __look "$1" "$1" now && cmp -s "$__d/now$1" "$__d/was$1"
}

__newline='
'
if [ "$__changes" != 1 ]; then
  __were=$__newline$(__stat "$@")$__newline
  __look 2 "$__changes" was
fi
set --

__n=1 __why='done 0 0'
while [ "$__n" -le "$__changes" ]; do
  if [ "$__n" -gt 1 ]; then
    "__same$__n" || { __why='outdated 0 0' && break; }
  fi
  # Last: to look at conditions may take long.
  [ ! -e "$__d/stop" ] || { __why='stopped 0 0' && break; }
  echo "$__nonce start $__n"
  "__steps$__n" || {
    __why="failed $(cat "$__d/failed")"
    cat "$__d/error" >&2
    break
  }
  __n=$((__n + 1))
done
echo "$__nonce end $__n $__why"
