#!/bin/sh
# Prints when the newest whole base backup of a repository ended, in UTC; nothing without one. Argument: folder of the repository
export LC_ALL=C TZ=UTC
grep -lx 'status=DONE' "$1"/base/*/backup.info 2>/dev/null |
  while read -r info; do date -d "$(sed -n 's/^end_time=//p' "$info")" '+%Y-%m-%dT%H:%M:%SZ'; done | sort | tail -n 1
