#!/bin/sh
# Dumps the state database and the prover database as they are at one moment, and writes a manifest of the two archives. Run as a
# transient systemd unit, so that it outlives the connection.
#
# The moment is one in which the synchronizer writes no block: a lock on the table of blocks keeps it waiting until both databases have
# exported a snapshot of themselves. The lock belongs to a session of PostgreSQL. It ends with that session, whatever ends this script,
# and the server ends the session of a machine that died. The dumps then read what was exported, and the synchronizer goes on.
#
# All files are made in a folder .part. The manifest is renamed last: archives without it are not a snapshot.
#
# Settings:
#   FOLDER           where the snapshot goes
#   ADDRESS, PORT    of the database server; PGPASSFILE has the password
#   DATABASE_USER    its superuser
#   STATE_DATABASE, STATE_NAME, STATE_TABLE   the database, the name of its archive, its main table
#   PROVER_DATABASE, PROVER_NAME, PROVER_TABLE
#   NETWORK          main or test
set -u
umask 022
export PGPASSFILE PGCONNECT_TIMEOUT=10 TZ=UTC LC_ALL=C

part=$FOLDER/.part
state_archive=$FOLDER/$STATE_NAME
prover_archive=$FOLDER/$PROVER_NAME
fail() { printf '%s\n' "$*" >&2; exit 1; }

# A dump that still runs ends with the unit.
end() {
  trap - EXIT TERM INT
  [ -e "$FOLDER/manifest.json" ] || rm -f "$state_archive" "$prover_archive"
  rm -rf "$part"
}

# Opens a session: it reads SQL from a pipe, and answers in a file.
open_session() {
  mkfifo "$part/$1.in"
  PGAPPNAME=rpc-node-snapshot psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 --set=VERBOSITY=terse \
    --host="$ADDRESS" --port="$PORT" --username="$DATABASE_USER" --dbname="$2" <"$part/$1.in" >"$part/$1.out" 2>"$part/$1.err" &
  eval "$1_session=$!"
}

# Waits until a session has answered. Arguments: its name, its process.
answered() {
  until grep -qx ready "$part/$1.out"; do
    if ! kill -0 "$2" 2>/dev/null; then
      grep -qx ready "$part/$1.out" && return
      fail "no snapshot of the moment: $(sed -n 's/^.*\(ERROR\|FATAL\|error\): *//p' "$part/$1.err" | head -n 1)"
    fi
    sleep 0.05
  done
}

# Dumps a database. Arguments: name of its archive, its database, the exported snapshot.
dump() {
  PGAPPNAME=rpc-node-snapshot pg_dump --format=custom --no-publications --no-subscriptions --no-password --snapshot="$3" \
    --host="$ADDRESS" --port="$PORT" --username="$DATABASE_USER" --dbname="$2" --file="$part/$1" 2>"$part/$1.err" &
}

# One archive in the manifest. Arguments: name of the archive, its main table.
describe() {
  pg_restore --list "$part/$1" | grep -q " TABLE $(printf '%s' "$2" | tr . ' ') " || fail "$1 holds no table $2"
  sum=$(sha256sum "$part/$1") || fail "$1 cannot be read"
  printf '{ "file": "%s", "sha256": "%s", "bytes": %s }' "$1" "${sum%% *}" "$(stat -c %s "$part/$1")"
}

# Another run may have ended since the check of this one, which then judges that snapshot.
[ ! -e "$FOLDER/manifest.json" ] || { echo "$FOLDER holds a snapshot already"; exit 0; }
mkdir -p "$FOLDER" || fail "$FOLDER cannot be made"
# What a run left that was ended in between. Archives without .part are somebody else's.
if [ ! -d "$part" ]; then
  for each in "$state_archive" "$prover_archive"; do
    [ ! -e "$each" ] || fail "$each is there already, and is not of a snapshot that was interrupted"
  done
fi
trap end EXIT
trap 'exit 1' TERM INT
trap '' PIPE
rm -rf "$part" "$state_archive" "$prover_archive"
mkdir "$part" || fail "$FOLDER cannot be written"
# Both archives have to be of one day, by their own clock.
while [ "$(date +%H%M)" = 2359 ]; do sleep 1; done

open_session lock "$STATE_DATABASE"
open_session state "$STATE_DATABASE"
open_session prover "$PROVER_DATABASE"
exec 3>"$part/lock.in" 4>"$part/state.in" 5>"$part/prover.in"
printf '%s\n' "select pg_database_size(current_database()) + pg_database_size('$PROVER_DATABASE');" '\echo ready' >&3
# shellcheck disable=SC2154 # open_session sets it
answered lock "$lock_session"
free=$(df -B1 --output=avail "$FOLDER" | tail -n 1)
size=$(head -n 1 "$part/lock.out")
[ "$free" -gt "$size" ] || fail "$FOLDER has $free bytes free, and the databases have $size: the archives may need as many"

# The synchronizer queues behind a lock that is waited for, so this wait is short. Autovacuum gives way after a second.
# The state first: what it refers to is in the prover's database when a block is written.
: >"$part/lock.out"
since=$(date +%s%N)
printf '%s\n' "set lock_timeout = '5s';" "set idle_in_transaction_session_timeout = '20s';" 'begin;' \
  "lock table $STATE_TABLE in share mode;" '\echo ready' >&3
answered lock "$lock_session"
export="begin isolation level repeatable read read only; select pg_export_snapshot();"
newest="select block_num || ' ' || block_hash from $STATE_TABLE order by block_num desc limit 1;"
printf '%s\n' "$export" "$newest" '\echo ready' >&4
# shellcheck disable=SC2154
answered state "$state_session"
printf '%s\n' "$export" '\echo ready' >&5
# shellcheck disable=SC2154
answered prover "$prover_session"
# The server ended the lock where this took too long: then the synchronizer wrote in between.
: >"$part/lock.out"
printf '%s\n' 'commit;' '\echo ready' >&3
answered lock "$lock_session"
exec 3>&-
echo "the synchronizer waited at most $((($(date +%s%N) - since) / 1000000)) ms"

taken=$(date +%Y-%m-%dT%H:%M:%SZ)
block=$(sed -n 2p "$part/state.out")
hash=${block#* }
block=${block%% *}
case $block in '' | *[!0-9]*) fail 'the state database holds no block' ;; esac
dump "$STATE_NAME" "$STATE_DATABASE" "$(sed -n 1p "$part/state.out")"
state_dump=$!
dump "$PROVER_NAME" "$PROVER_DATABASE" "$(sed -n 1p "$part/prover.out")"
prover_dump=$!
# Each only once: the second wait for a process does not know how it ended.
wait "$state_dump" || fail "$STATE_NAME: $(tail -n 1 "$part/$STATE_NAME.err")"
wait "$prover_dump" || fail "$PROVER_NAME: $(tail -n 1 "$part/$PROVER_NAME.err")"
exec 4>&- 5>&-

state=$(describe "$STATE_NAME" "$STATE_TABLE") || exit 1
prover=$(describe "$PROVER_NAME" "$PROVER_TABLE") || exit 1
cat >"$part/manifest.json" <<JSON
{
  "network": "$NETWORK",
  "date": "${taken%%T*}",
  "taken_at": "$taken",
  "block": $block,
  "hash": "$hash",
  "state": $state,
  "prover": $prover
}
JSON
sync "$part/$STATE_NAME" "$part/$PROVER_NAME" "$part/manifest.json" || fail 'the files could not be written to the disk'
if ! { mv "$part/$STATE_NAME" "$part/$PROVER_NAME" "$FOLDER/" && sync "$FOLDER" &&
  mv "$part/manifest.json" "$FOLDER/" && sync "$FOLDER"; }; then fail "the files could not be put into $FOLDER"; fi
echo "the snapshot is in $FOLDER"
