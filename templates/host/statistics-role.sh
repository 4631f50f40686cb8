#!/bin/sh
# Makes a database role that may only read statistics, or checks it. Arguments: `check` or `apply`, the role, the file of its
# password, superuser and database of the container state-db, its published port.
set -eu
umask 077
verb=$1 role=$2 secret=$3 superuser=$4 database=$5 port=$6

if [ "$verb" = check ]; then
  if [ ! -s "$secret" ]; then echo "its password is not there yet: $secret" >&2; exit 1; fi
  # Through the published port: inside the container every local user is trusted.
  found=$(PGPASSWORD=$(cat "$secret") PGCONNECT_TIMEOUT=5 psql -XAtq -h 127.0.0.1 -p "$port" -U "$role" -d "$database" -c "
    select not (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication)
      and array(select b.rolname::text from pg_auth_members m join pg_roles b on b.oid = m.roleid where m.member = r.oid)
        = array['pg_monitor'] from pg_roles r where r.rolname = current_user")
  if [ "$found" != t ]; then echo "it may do more, or less, than read statistics" >&2; exit 1; fi
  exit 0
fi

if [ ! -s "$secret" ]; then
  head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$secret.new"
  mv "$secret.new" "$secret"
fi
chgrp prometheus "$secret"
chmod 0640 "$secret"
# On standard input, and not logged by the server.
docker exec -i state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$superuser" -d "$database" <<SQL
set log_statement = 'none';
set log_min_duration_statement = -1;
set log_min_error_statement = 'panic';
select 'create role $role' where not exists (select 1 from pg_roles where rolname = '$role') \gexec
select format('revoke %I from $role', b.rolname) from pg_auth_members m join pg_roles b on b.oid = m.roleid
  join pg_roles r on r.oid = m.member where r.rolname = '$role' and b.rolname <> 'pg_monitor' \gexec
alter role $role login nosuperuser nocreatedb nocreaterole noreplication connection limit 5 password '$(cat "$secret")';
grant pg_monitor to $role;
SQL
