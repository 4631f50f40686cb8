#!/bin/sh
# Prints when the newest whole base backup of a repository ended, in UTC; nothing without one. Argument: folder of the repository
export LC_ALL=C TZ=UTC
for info in "$1"/base/*/backup.info; do
  if grep -qx 'status=DONE' "$info" 2>/dev/null; then date -d "$(sed -n 's/^end_time=//p' "$info")" '+%Y-%m-%dT%H:%M:%SZ'; fi
done | sort | tail -n 1
