#!/bin/sh
# Copies the database server into the data directory of a replica, by pg_basebackup in a container of the same image. A copy that was
# interrupted starts over. The functions of data-place.sh are before this text.
#
# Settings:
#   IMAGE                of state-db
#   ADDRESS, PORT        of the server; SLOT, the slot there that keeps its log for this replica
#   PASSWORD_FILE        of the role rpc_node_replica; it is removed at the end
#   DATA                 the data directory of state-db: absent or empty
set -u
umask 077
fail() { printf '%s\n' "$*" >&2; exit 1; }

copy=$(place_of_copy "$DATA")
container=rpc-node-replica-copy
[ -z "$(docker ps --all --quiet --filter 'name=^/state-db$' --filter status=running --filter status=restarting)" ] || fail 'state-db runs here'
if is_half_placed "$DATA"; then
  put_in_place "$DATA" standby.signal || fail "the copy cannot be moved into $DATA"
  exit
fi
[ -z "$(held_in "$DATA")" ] || fail "$DATA holds data"
docker rm -f "$container" >/dev/null 2>&1
rm -rf "$copy"
mkdir -p "$copy/data"
docker run --rm --user root --entrypoint chown --volume "$copy/data:/copy" "$IMAGE" postgres:postgres /copy ||
  fail "$copy cannot be given to the user postgres of $IMAGE"
# shellcheck disable=SC2016 # it is for the shell in the container
docker run --rm --interactive --name "$container" --network host --user postgres --entrypoint sh --volume "$copy/data:/copy" "$IMAGE" -c '
  IFS= read -r PGPASSWORD
  export PGPASSWORD
  exec pg_basebackup --dbname="host=$1 port=$2 user=rpc_node_replica application_name=$3 connect_timeout=10" --slot="$3" --pgdata=/copy \
    --wal-method=stream --checkpoint=fast --write-recovery-conf --no-password' sh "$ADDRESS" "$PORT" "$SLOT" <"$PASSWORD_FILE" ||
  fail "the database server at $ADDRESS:$PORT does not send a whole copy"
[ -e "$copy/data/standby.signal" ] || fail 'the copy is not one of a replica'
sync -f "$copy/data"
put_in_place "$DATA" standby.signal || fail "the copy cannot be moved into $DATA"
rm -f "$PASSWORD_FILE"
