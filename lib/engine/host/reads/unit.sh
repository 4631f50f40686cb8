# shellcheck shell=sh
# Arguments: names of units. Prints their properties, a record for each. A unit whose program may end just after its start, as with a
# wrong configuration, is looked at when a second has passed; if it has ended, its record follows with the end of its journal.
show() {
  # Fractions of a second are shown since systemd 247; a time without them is better than none.
  systemctl show --timestamp=us+utc "$@" || systemctl show "$@"
}
export TZ=UTC0
properties=Id,Names,LoadState,ActiveState,SubState,UnitFileState,ActiveEnterTimestamp,NeedDaemonReload,Type
shown=$(show -p "$properties" -- "$@")
# Other types say when they have started. The day of the week is left out.
started=$(printf '%s\n' "$shown" | awk -F= -v since="$(date -d '1 second ago' '+%F %T.%6N' || echo never)" '
  function end() { if (quick && recent) print id; quick = recent = 0 }
  !$0 { end() }
  $1 == "Id" { id = $2 }
  $1 == "Type" { quick = $2 ~ /^(simple|exec|idle)$/ }
  $1 == "ActiveEnterTimestamp" { recent = substr($2, 5) >= since }
  END { end() }')
if [ -z "$started" ]; then
  printf '%s\n' "$shown"
  exit
fi
sleep 1
show -p "$properties" -- "$@"
for unit in $started; do
  systemctl is-active --quiet "$unit" && continue
  echo
  show -p "$properties" -- "$unit"
  echo "Journal=$(journalctl --no-pager --quiet -o cat -n 8 -u "$unit" | tr '\n' '\r')"
done
