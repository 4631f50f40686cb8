#!/bin/sh
# Stops state-db of the former Database+Sync server, and makes its data directory that of a replica. PostgreSQL sends all of its log to
# the replicas that are connected then. Argument: the data directory.
set -eu
fail() { echo "$*" >&2; exit 1; }
data=$1
if docker inspect state-db >/dev/null 2>&1; then docker stop --time 300 state-db >/dev/null; fi
# The state in pg_control. 1: shut down cleanly, as a primary.
[ "$(od -An -v -tu4 -j16 -N4 "$data/global/pg_control" | tr -d ' ')" = 1 ] ||
  fail "state-db did not end cleanly, and may have log that no replica has. If another server was promoted already, do not start it: remove
$data, and deploy. Otherwise: docker start state-db, and run switch.mjs again"
docker inspect state-db >/dev/null 2>&1 ||
  fail 'state-db has no container, and the new server may have to fetch log from it. Deploy with the inventory of before, and run switch.mjs again'
# As the owner of the folder: root would follow a link there. A recovery has left the timeline where it ended: a replica goes on to the next one.
cd -P "$data"
# shellcheck disable=SC2016 # it is for the shell of that user
setpriv --reuid="$(stat -c %u .)" --regid="$(stat -c %g .)" --clear-groups sh -c '
  umask 077
  [ ! -e ./postgresql.auto.conf ] || sed -i -E "/^(restore_command|recovery_[a-z_]*) *=/d" ./postgresql.auto.conf || exit
  : >./standby.signal' ||
  fail "$data/standby.signal cannot be made"
sync -f .
# It follows nobody yet. Log that did not leave it before its end is fetched from it as from any standby.
docker start state-db >/dev/null
for _ in $(seq 60); do
  if docker exec state-db pg_isready --quiet; then exit 0; fi
  sleep 1
done
# Each question above left a line about the start.
fail "state-db does not answer as a replica: $(docker logs --tail 500 state-db 2>&1 | grep -v 'starting up' | tail -n 1)"
