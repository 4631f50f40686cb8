# shellcheck shell=sh disable=SC2154,SC2317
# Time limits of commands that run in lanes, one after another in each. It follows process-tree.sh, and needs the folder $__d and the
# number of lanes $__lanes. The file lane0, lane1, … there has the command that the lane runs: an id, its process, its seconds.
# At the limit the file late with the id is made, and the command and all its processes get SIGTERM, then SIGKILL, which makes the file
# killed with the id. One watcher for all commands: one for each would take two processes more.

__eval() {
  __text=$1
  set --
  eval "$__text"
}

# Reads once a second which command each lane runs, so that quick commands cost nothing.
__watch() {
  trap 'kill -9 $! 2>/dev/null; exit 0' TERM
  while [ -d "$__d" ]; do
    sleep 1 &
    wait $!
    __n=0
    while [ "$__n" -lt "$__lanes" ]; do
      __check_lane
      __n=$((__n + 1))
    done
  done
}

# The command that lane $__n ran a second ago, its age and its processes are in variables with the lane's number.
__check_lane() {
  { read -r __i __pid __limit <"$__d/lane$__n"; } 2>/dev/null || return
  [ "$__i" ] || return
  eval "__before=\$__before$__n __age=\$__age$__n __all=\$__all$__n"
  [ "$__before" = "$__i" ] || __age=0
  __age=$((__age + 1))
  # shellcheck disable=SC2046,SC2086
  if [ "$__age" = "$__limit" ]; then
    : >"$__d/late$__i"
    __all=$(__tree "$__pid")
    kill -TERM $__all
  elif [ "$__age" = $((__limit + __grace)) ]; then
    kill -KILL $__all $(__tree "$__pid")
    : >"$__d/killed$__i"
  fi
  eval "__before$__n=\$__i __age$__n=\$__age __all$__n=\$__all"
}
