#!/bin/sh
# Asks the state database of another server one question, and prints the answer.
#
# Standard input: the password. Arguments: address, port, user, name of the database, query.
IFS= read -r PGPASSWORD
PGCONNECT_TIMEOUT=5
export PGPASSWORD PGCONNECT_TIMEOUT
exec psql -X -q -A -t -w -v ON_ERROR_STOP=1 -h "$1" -p "$2" -U "$3" -d "$4" -c "$5"
