# shellcheck shell=sh
# The last lines that one run of a unit wrote. Arguments: the unit, systemd's name for the run.
# The last output may not have reached the journal yet, and output of a process that is ending may be recorded without its run. The run
# begins with its own output or with systemd's message that it started: one that wrote nothing has no words of an earlier run.
timeout 10 journalctl --sync 2>/dev/null
last() { journalctl --quiet --no-pager "$@"; }
since=$(last --output=short-unix "_SYSTEMD_INVOCATION_ID=$2" + "INVOCATION_ID=$2" | sed 's/ .*//;q')
if [ -n "$since" ]; then
  last --output=cat --lines=15 --since="@$since" "_SYSTEMD_UNIT=$1.service"
else
  last --output=cat --lines=5 "_SYSTEMD_UNIT=$1.service"
fi
