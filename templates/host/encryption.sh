#!/bin/sh
# Refuses plain text from other hosts in the pg_hba.conf of the container state-db, or checks that. Arguments: `check` or `apply`, superuser
# and database, and the addresses of the other hosts. Without an address nothing of it is there. Needs hba-lines.sh.
#
# The lines are the first ones: the first that matches a connection decides. Those after them are somebody else's, and stay.
set -eu
verb=$1 superuser=$2 database=$3
shift 3
fail() { echo "$*" >&2; exit 1; }
# shellcheck disable=SC2120 # the SQL is on standard input
sql() { docker exec -i state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$superuser" -d "$database" "$@"; }
lines=$(for address; do echo "hostnossl all,replication all $address reject"; done)
hba=$(sql -c 'show hba_file')

if [ "$verb" = check ]; then
  [ $# = 0 ] || [ "$(sql -c 'show ssl')" = on ] || fail 'state-db offers no encryption'
  [ "$(hba_lines tls)" = "$lines" ] || fail 'pg_hba.conf lets other hosts in without encryption, or keeps a former host out'
  [ -z "$lines" ] || [ "$(docker exec state-db head -n 1 "$hba")" = "$(printf '%s\n' "$lines" | head -n 1) # rpc-node tls" ] ||
    fail 'lines of pg_hba.conf are before those that demand encryption'
  check_hba_is_read
  exit 0
fi

# Nobody is cut off: clients encrypt from the moment at which the server offers it.
[ $# = 0 ] || [ "$(sql -c 'show ssl')" = on ] || fail 'state-db offers no encryption'
put_hba_lines tls first
