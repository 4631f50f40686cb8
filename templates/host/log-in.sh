#!/bin/sh
# Logs in to databases, all at once, and prints one line for each that could not be used: NUMBER REASON, the reason in psql's words.
# The numbers count from 1. `absent` means that the host has no psql.
#
# Standard input: one line for each database: host, port, user, name of the database and password, separated by spaces.
# Arguments: time limit of a connection in seconds, and the file of the authorities by which servers of other hosts are verified, if any.
limit=$1 trusted=${2:-}
command -v psql >/dev/null || {
  echo absent
  exit 0
}

# Arguments: number, host, port, user, database
log_in() {
  if [ -n "$trusted" ] && [ "$2" != 127.0.0.1 ]; then export PGSSLMODE=verify-full "PGSSLROOTCERT=$trusted"; fi
  reason=$(PGCONNECT_TIMEOUT=$limit psql -X -q -A -t -w -h "$2" -p "$3" -U "$4" -d "$5" -c 'select 1' 2>&1 >/dev/null) ||
    printf '%s %s\n' "$1" "$(printf '%s' "$reason" | tail -n 1)"
}

number=0
while read -r host port user database PGPASSWORD; do
  number=$((number + 1))
  export PGPASSWORD
  log_in "$number" "$host" "$port" "$user" "$database" </dev/null &
done
wait
