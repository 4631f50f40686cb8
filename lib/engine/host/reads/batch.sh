# shellcheck shell=sh disable=SC2154,SC2317
# Runs the commands of a batch and prints the reply that batch-reply.ts parses. It follows process-tree.sh, lane-watch.sh and the functions
# __lane0, __lane1, …, which call __run once for each command. Lanes run at the same time, the commands of a lane one after another.
# Each command has its own exit code, standard output, standard error and time limit. Its standard input is the variable __in with its
# number, in base64; without one it is empty.
# Arguments: `quick` or `careful`, the number of lanes, the number of commands.
# It leaves nothing behind, however it ends. Exit code 75: no room for output.
__way=$1 __lanes=$2 __commands=$3

# Memory first: it works with a full disk and is never mounted read-only. If that was not enough, disks first. Nothing is
# executed there, so noexec does not matter.
__places='/dev/shm /run /tmp /var/tmp'
[ "$__way" = quick ] || __places='/var/tmp /tmp /run /dev/shm'
__d=
for __place in $__places; do
  __d=$(mktemp -d "$__place/rpc-playbooks.XXXXXX" 2>/dev/null) || continue
  { echo 0 0 0 >"$__d/codes"; } 2>/dev/null && break
  rm -rf "$__d"
  __d=
done
if [ -z "$__d" ]; then
  echo "no room for temporary files in $__places" >&2
  exit 75
fi

# Arguments: number of the command, seconds, text.
__run() {
  eval "__in=\${__in$1-}"
  {
    if [ "$__in" ]; then printf %s "$__in" | base64 -d | __eval "$3"; else __eval "$3" </dev/null; fi
  } >"$__d/o$1" 2>"$__d/e$1" &
  __pid=$!
  echo "$1 $__pid $2" >"$__d/lane$__n"
  read -r __from __rest </proc/uptime
  wait "$__pid"
  __code=$?
  read -r __to __rest </proc/uptime
  __late=0
  [ -e "$__d/late$1" ] && __late=1
  echo "$1 $__code $__late $__from $__to" >>"$__d/codes"
}

__watch </dev/null >/dev/null 2>&1 &
__watcher=$!
__started=
__n=0
while [ "$__n" -lt "$__lanes" ]; do
  (
    "__lane$__n"
    echo >"$__d/lane$__n"
  ) </dev/null >/dev/null 2>&1 &
  __started="$__started $!"
  __n=$((__n + 1))
done
# The traps are set only now: a signal that meets a new subshell before it has dropped its parent's traps is lost.
trap 'rm -rf "$__d"' EXIT
trap 'for __one in $__watcher $__started; do kill $(__tree $__one); done 2>/dev/null; exit 129' HUP INT TERM PIPE
for __one in $__started; do wait "$__one" 2>/dev/null; done
# The watcher is not waited for: it ends with the directory.
kill "$__watcher" 2>/dev/null
cd "$__d" || exit 75
# If nothing more can be written, output may be cut off.
printf %8192s . >probe || exit 75
__files=codes
__n=1
while [ "$__n" -le "$__commands" ]; do
  __files="$__files o$__n e$__n"
  __n=$((__n + 1))
done
# shellcheck disable=SC2086
if [ "$__way" = quick ]; then
  wc -c $__files 2>/dev/null
  cat $__files 2>/dev/null
else
  # Each file up to its announced size and no further, with one process for each.
  wc -c $__files >sizes 2>/dev/null
  cat sizes
  while read -r __size __file; do [ "$__file" = total ] || head -c "$__size" "$__file"; done <sizes
fi
exit 0
