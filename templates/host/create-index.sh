#!/bin/sh
# Creates an index of a database in a container, CONCURRENTLY, so that writers go on. An invalid one, which an interrupted creation
# leaves, is dropped first.
#
# Settings:
#   CONTAINER, DATABASE_USER, DATABASE
#   SCHEMA, TABLE, INDEX
#   COLUMNS   separated by spaces
set -eu
# CONCURRENTLY works outside a transaction only: psql sends each statement by itself.
docker exec -i "$CONTAINER" psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 --set=VERBOSITY=terse \
  --username="$DATABASE_USER" --dbname="$DATABASE" \
  --set=schema="$SCHEMA" --set=table="$TABLE" --set=index="$INDEX" --set=columns="$COLUMNS" <<'SQL'
select format('drop index concurrently %I.%I', :'schema', :'index') from pg_index
where indexrelid = to_regclass(format('%I.%I', :'schema', :'index')) and not indisvalid \gexec
select format('create index concurrently if not exists %I on %I.%I using btree (%s)', :'index', :'schema', :'table',
  string_agg(quote_ident(name), ', '))
from string_to_table(:'columns', ' ') name \gexec
SQL
