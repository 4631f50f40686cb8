#!/bin/sh
# Functions that tell of which past log and base backups are: each recovery of a server begins a timeline. They are put before the scripts that
# use them.

# Prints a word of a base backup. Arguments: its backup.info, the name of the word
word_of() { sed -n "s/^$2=//p" "$1"; }

# Prints a place in the log as a number. Argument: such as 0/5000028
place() { echo $((0x${1%/*} * 4294967296 + 0x${1#*/})); }

# Prints the timelines before one, and where each was left: 1:0/5000028 2:0/7000060. Standard input: its history file, which may be compressed
left_before() { gzip -dcf | awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9A-F]+\/[0-9A-F]+$/ { printf "%s%s:%s", sep, $1, $2; sep = " " }'; }

# Sets $timeline to the newest one, which a recovery follows, and $left as left_before prints it. Argument: Barman's folder of the server
choose_timeline() {
  timeline=1 left=''
  for t_file in "$1"/streaming/????????.history "$1"/wals/????????.history; do
    t_number=$(printf '%d' "0x$(basename "$t_file" .history)" 2>/dev/null) || continue
    [ "$t_number" -le "$timeline" ] || timeline=$t_number
  done
  # Barman may move it from the one to the other just now.
  for t_folder in streaming wals; do
    [ -n "$left" ] || left=$(left_before 2>/dev/null <"$1/$t_folder/$(printf '%08X' "$timeline").history")
  done
}

# Whether a timeline, which a recovery follows, has all of a base backup. One that was made after the server was recovered to a time before it
# has another past. Arguments: its backup.info, the number of the timeline, as $left of choose_timeline
is_of_timeline() {
  t_own=$(word_of "$1" timeline)
  [ "$t_own" != "$2" ] || return 0
  for t_left in $3; do
    if [ "${t_left%%:*}" = "$t_own" ]; then
      [ "$(place "$(word_of "$1" end_xlog)")" -le "$(place "${t_left#*:}")" ]
      return
    fi
  done
  return 1
}

# Refuses a recovery to $time ($until, in seconds since 1970) without log from after it: PostgreSQL needs a commit from after the time. Log
# arrives after it was written; a minute is left for clocks that differ. Arguments: when the newest log arrived, in seconds since 1970, or 0
# without any log; where the log is
# shellcheck disable=SC2154 # the scripts that use it set time and until
need_later_log() {
  [ "$time" = latest ] || [ "$1" -eq 0 ] || [ "$until" -lt $(($1 + 60)) ] ||
    fail "the newest log $2 is of $(date -d "@$1" +%Y-%m-%dT%H:%M:%SZ): recover to latest, or to a time before that"
}

# For awk, with newest and left as choose_timeline sets them: at(name) is the number of a segment, and needed(number) the name of the segment that
# a recovery has to read there. PostgreSQL takes another one in its place: of a timeline before, whose writes have been undone. is_enough says of
# one segment after the other, by their arrivals and bytes, whether a recovery to the time `until` needs no more: a commit from after the time
# has to be there. One that began before the time may end with it, and one that an idle server has switched has none, and is small.
# shellcheck disable=SC2034 # of the scripts that use it
segments='
  function hex(text, i, n) { for (i = 1; i <= length(text); i++) n = n * 16 + index("123456789ABCDEF", substr(text, i, 1)); return n }
  function at(name) { return hex(substr(name, 9, 8)) * 256 + hex(substr(name, 17, 8)) }
  function needed(number, i) {
    for (i = 1; i <= lines && number >= next_from[i]; i++);
    return sprintf("%08X%08X%08X", i > lines ? newest : line[i], int(number / 256), number % 256)
  }
  function is_enough(came, bytes, enough) {
    enough = came_before > until && bytes > 65536
    came_before = came
    return enough
  }
  BEGIN {
    lines = split(left, each, " ")
    for (i = 1; i <= lines; i++) {
      split(each[i], part, /[:\/]/)
      line[i] = part[1]
      next_from[i] = hex(part[2]) * 256 + int(hex(part[3]) / 16777216)
    }
  }'
