# shellcheck shell=sh
# Arguments: names of units. Prints their properties, a record for each. A unit whose program may end just after its start, as with a
# wrong configuration, is looked at again when it is quiet: after 0.2 s without processor time of one process, which then waits for
# work, or after a second. If it has ended, its record follows with the end of its journal.
show() {
  # Fractions of a second are shown since systemd 247; a time without them is better than none.
  systemctl show --timestamp=us+utc "$@" || systemctl show "$@"
}
export TZ=UTC0
properties=Id,Names,LoadState,ActiveState,SubState,UnitFileState,ActiveEnterTimestamp,NeedDaemonReload,Type,ControlGroup
shown=$(show -p "$properties" -- "$@")
# Other types say when they have started. The day of the week is left out.
started=$(printf '%s\n' "$shown" | awk -F= -v since="$(date -d '1 second ago' '+%F %T.%6N' || echo never)" '
  function end() { if (quick && recent) print id, group; quick = recent = 0 }
  !$0 { end() }
  $1 == "Id" { id = $2 }
  $1 == "ControlGroup" { group = $2 }
  $1 == "Type" { quick = $2 ~ /^(simple|exec|idle)$/ }
  $1 == "ActiveEnterTimestamp" { recent = substr($2, 5) >= since }
  END { end() }')
if [ -z "$started" ]; then
  printf '%s\n' "$shown"
  exit
fi

# The processor time of each; `busy` for one with several processes, such as a shell that waits for another program, or that runs.
used() {
  printf '%s\n' "$started" | while read -r unit group; do
    # Where cgroup v1 is mounted, too, v2 is below it.
    [ -e "/sys/fs/cgroup$group/cpu.stat" ] || group=/unified$group
    first='' second=busy usage=busy line=
    { read -r first && read -r second; } <"/sys/fs/cgroup$group/cgroup.procs"
    [ "$second" ] || read -r usage <"/sys/fs/cgroup$group/cpu.stat"
    # One that waits for a disk, or for a processor, is not idle.
    for thread in "/proc/$first/task/"*/stat; do
      read -r line <"$thread"
      case ${line##*) } in S*) ;; *) usage=busy ;; esac
    done
    echo "$unit $usage"
  done 2>/dev/null
}
passed=0 quiet=0 was=$(used)
while [ "$passed" -lt 10 ] && [ "$quiet" -lt 2 ]; do
  sleep 0.1
  now=$(used)
  case $now in *busy*) quiet=0 ;; "$was") quiet=$((quiet + 1)) ;; *) quiet=0 ;; esac
  was=$now passed=$((passed + 1))
done
show -p "$properties" -- "$@"
printf '%s\n' "$started" | while read -r unit group; do
  systemctl is-active --quiet "$unit" && continue
  echo
  show -p "$properties" -- "$unit"
  echo "Journal=$(last_words "$unit" 8 --unit="$unit" | tr '\n' '\r')"
done
