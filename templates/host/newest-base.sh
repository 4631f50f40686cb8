#!/bin/sh
# Prints when the newest whole base backup of a repository ended, in UTC; nothing without one. Argument: folder of the repository. The
# functions of base-backups.sh are before this text.
export LC_ALL=C TZ=UTC
for each in $(whole_bases "$1"); do
  date -d "$(sed -n 's/^end_time=//p' "$(info_of "$1" "$each")")" '+%Y-%m-%dT%H:%M:%SZ'
done | sort | tail -n 1
