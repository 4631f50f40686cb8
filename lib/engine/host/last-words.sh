# shellcheck shell=sh
# The last lines of one run of a unit. Arguments: systemd's name for the run, or else the unit, whose newest run it is then; the number of
# lines; and what journalctl takes of the journal from the run's start on, such as --unit=docker.service.
# The last output may not have reached the journal yet, and output of a process that is ending may be recorded without its run. The run
# begins with its own output or with systemd's message that it started: one that wrote nothing has no words of an earlier run.
# The lines are counted by tail: journalctl up to systemd 252 counts them from the start of the run, not from its end.
timeout 10 journalctl --sync 2>/dev/null || :
run=$1 lines=$2
shift 2
case $run in *.*) run=$(systemctl show --property InvocationID --value "$run") ;; esac
since=$(journalctl --quiet --no-pager --output=short-unix "_SYSTEMD_INVOCATION_ID=${run:-none}" + "INVOCATION_ID=${run:-none}" | sed 's/ .*//;q')
if [ "$since" ]; then
  journalctl --quiet --no-pager --output=cat --since="@$since" "$@" | tail -n "$lines"
else
  journalctl --quiet --no-pager --output=cat --lines=5 "$@"
fi
