#!/bin/sh
# How far pg_restore is in each archive of the arguments. Prints a line for each process that restores one: bytes read, number of jobs,
# path of the archive, separated by tabs.
#
# One process reads an archive in order, so its offset counts. With several jobs each process reads its own parts, so what it has read
# counts; their parent reads the table of contents only, and prints no bytes. A process may end between two reads: that is no error.

number() { sed -n "s/^$1:[[:space:]]*//p" "$2" 2>/dev/null; }

for pid in $(pgrep -x pg_restore); do
  words=$(tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null)
  printf '%s\n' "$words" | grep -q -x -e --list && continue
  jobs=$(printf '%s\n' "$words" | sed -n 's/^--jobs=//p')
  parent=$(number PPid "/proc/$pid/status")
  for archive; do
    for file in "/proc/$pid/fd/"*; do
      # shellcheck disable=SC3013 # dash and bash have it
      [ "$file" -ef "$archive" ] || continue
      if [ "$(cat "/proc/$parent/comm" 2>/dev/null)" = pg_restore ]; then
        bytes=$(number rchar "/proc/$pid/io")
      elif [ -n "$jobs" ]; then
        bytes=
      else
        bytes=$(number pos "/proc/$pid/fdinfo/${file##*/}")
      fi
      printf '%s\t%s\t%s\n' "$bytes" "${jobs:-1}" "$archive"
      break 2
    done
  done
done
