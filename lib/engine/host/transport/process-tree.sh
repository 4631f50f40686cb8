# shellcheck shell=sh
# `__tree PID` prints a process and all its descendants. It reads parents from /proc, so neither `ps` nor `setsid` is needed.
# `[0-9]*` lists each process once. A name of a process may contain spaces and brackets.

# Seconds between SIGTERM and SIGKILL.
# shellcheck disable=SC2034
__grace=2

__below() {
  for __stat in /proc/[0-9]*/stat; do
    { IFS= read -r __line <"$__stat"; } 2>/dev/null || continue
    __parent=${__line##*) }
    __parent=${__parent#* }
    [ "${__parent%% *}" = "$1" ] || continue
    set -- "$1" "$2${__line%% *} "
  done
  for __child in $2; do
    printf '%s ' "$__child"
    (__below "$__child" '')
  done
}

__tree() {
  printf '%s ' "$1"
  __below "$1" ''
}
