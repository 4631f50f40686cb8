#!/bin/sh
# Functions that tell of which past a base backup is: each recovery of a server begins a timeline. They are put before the scripts that use
# them.

# Prints a word of a base backup. Arguments: its backup.info, the name of the word
word_of() { sed -n "s/^$2=//p" "$1"; }

# Prints a place in the log as a number. Argument: such as 0/5000028
place() { echo $((0x${1%/*} * 4294967296 + 0x${1#*/})); }

# Whether a timeline, which a recovery follows, has all of a base backup. One that was made after the server was recovered to a time before it
# has another past. Arguments: its backup.info, the number of the timeline, its history file, which may be compressed
is_of_timeline() {
  [ "$(word_of "$1" timeline)" != "$2" ] || return 0
  t_left=$(gzip -dcf "$3" | awk -v timeline="$(word_of "$1" timeline)" '$1 == timeline { print $2; exit }')
  [ -n "$t_left" ] && [ "$(place "$(word_of "$1" end_xlog)")" -le "$(place "$t_left")" ]
}
