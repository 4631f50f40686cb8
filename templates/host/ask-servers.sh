#!/bin/bash
# Asks servers, all at once, and prints one line for each that does not do what is asked:
#   NUMBER unresolved
#   NUMBER unreached REASON
#   NUMBER refused REASON     PostgreSQL does not let this user in, in the words of psql
# The numbers count from 1. It needs nothing but what an image of PostgreSQL has, too: there is no curl.
#
# Standard input: a line for each: host and port, and to log in to PostgreSQL also user, name of the database and password.
# Argument: time limit of each question in seconds.
limit=$1

resolves() {
  # An address.
  case $host in *:*) return 0 ;; *[!0-9.]*) ;; *) return 0 ;; esac
  timeout "$limit" getent hosts "$host" >/dev/null
}

# Argument: number
ask() {
  resolves || {
    echo "$1 unresolved"
    return
  }
  # What it asks is in no argument, as other users see these.
  # shellcheck disable=SC2016
  reason=$(timeout "$limit" bash -c 'exec 3<>"/dev/tcp/$host/$port"' 2>&1) || {
    reason=${reason%%$'\n'*}
    echo "$1 unreached ${reason##*: }"
    return
  }
  [ "$PGUSER" ] || return
  reason=$(PGCONNECT_TIMEOUT=$limit psql -X -q -A -t -w -c 'select 1' 2>&1 >/dev/null) || echo "$1 refused ${reason##*$'\n'}"
}

number=0
while read -r host port PGUSER PGDATABASE PGPASSWORD; do
  number=$((number + 1))
  PGHOST=$host PGPORT=$port
  export host port PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD
  ask "$number" </dev/null &
done
wait
