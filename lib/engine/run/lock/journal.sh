# shellcheck shell=sh
# Appends a line to the journal of a host. Argument: its folder. Standard input: the line.
# Of two that write at once, one waits, where the host has flock; without it the lock of the host has to do. A line that a power cut left
# incomplete is ended first.
umask 077
IFS= read -r line || exit
mkdir -p "$1" && cd "$1" && exec 9>>journal.jsonl &&
  { ! command -v flock >/dev/null || flock -w 10 9; } &&
  if [ -s journal.jsonl ] && [ "$(tail -c 1 journal.jsonl | wc -l)" = 0 ]; then printf '\n%s\n' "$line"; else printf '%s\n' "$line"; fi >&9
