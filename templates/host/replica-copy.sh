#!/bin/sh
# Copies the database server into the data directory of a replica, by pg_basebackup in a container of the same image. A copy that was
# interrupted starts over. The functions of data-place.sh are before this text.
#
# Settings:
#   IMAGE                of state-db
#   ADDRESS, PORT        of the server; SLOT, the slot there that keeps its log for this replica
#   DATABASE             the state database there
#   PASSWORD_FILE        of the role rpc_node_replica; it is removed after a whole copy
#   DATA                 the data directory of state-db: absent or empty
#   VERIFYING, TRUSTED   words of a connection that verifies the server, and the authorities that it trusts; empty for plain text
set -u
umask 077
fail() { printf '%s\n' "$*" >&2; exit 1; }
# A link has the copy on the file system that it leads to.
DATA=$(readlink -m "$DATA")

copy=$(place_of_copy "$DATA")
container=rpc-node-replica-copy
[ -z "$(docker ps --all --quiet --filter 'name=^/state-db$' --filter status=running --filter status=restarting)" ] || fail 'state-db runs here'
if is_half_placed "$DATA" standby.signal; then
  put_in_place "$DATA" standby.signal || fail "the copy cannot be moved into $DATA"
  rm -f "$PASSWORD_FILE"
  exit
fi
[ -z "$(held_in "$DATA")" ] || fail "$DATA holds data"

# What can be known of the server before anything is copied. Text is sorted by the rules of the C library: a copy that is read with other ones
# has indexes that miss rows. Another major version cannot read a data directory at all.
# shellcheck disable=SC2016 # it is for the shell in the container
known=$(docker run --rm --interactive --network host --user postgres --entrypoint sh ${TRUSTED:+--volume "$TRUSTED:$TRUSTED:ro"} "$IMAGE" -c '
  IFS= read -r PGPASSWORD
  export PGPASSWORD
  psql -XAtq "host=$1 port=$2 user=rpc_node_replica dbname=$3 connect_timeout=10 $4" \
    -c "select pg_database_collation_actual_version(oid) from pg_database where datname = current_database()" \
    -c "select current_setting('\''server_version_num'\'')::int / 10000" -c "select sum(pg_database_size(oid))::bigint from pg_database where datallowconn" || exit
  pg_basebackup --version | sed "s/^[^0-9]*\([0-9]*\).*/\1/"
  getconf GNU_LIBC_VERSION 2>/dev/null | cut -d " " -f 2' sh "$ADDRESS" "$PORT" "$DATABASE" "$VERIFYING" <"$PASSWORD_FILE") ||
  fail "the database server at $ADDRESS:$PORT cannot be asked from a container of $IMAGE"
{ read -r theirs; read -r version; read -r size; read -r own_version; read -r ours; } <<EOF
$known
EOF
[ "$version" = "$own_version" ] ||
  fail "the database server is PostgreSQL $version, and $IMAGE is PostgreSQL $own_version: name one image for both (images.database)"
[ -z "$theirs" ] || [ "$theirs" = "$ours" ] ||
  fail "the database server sorts text by version $theirs of the C library, and $IMAGE has ${ours:-another one}: indexes of a copy would miss rows." \
    'Name one image for both by its digest (images.database), deploy the server, then this host'
free=$(room_for_copy "$DATA")
# A twentieth for the log that the server writes meanwhile.
needed=$((size + size / 20))
[ "$needed" -le "$free" ] ||
  fail "there is no room for a copy in $(dirname "$copy"): it takes $((needed / 1000000)) MB, and $((free / 1000000)) MB are free"

docker rm -f "$container" >/dev/null 2>&1
remove_copy "$copy" || fail "$copy cannot be removed"
mkdir -p "$copy/data"
docker run --rm --user root --entrypoint chown --volume "$copy/data:/copy" "$IMAGE" postgres:postgres /copy ||
  fail "$copy cannot be given to the user postgres of $IMAGE"
# shellcheck disable=SC2016 # it is for the shell in the container
docker run --rm --interactive --name "$container" --network host --user postgres --entrypoint sh --volume "$copy/data:/copy" \
  ${TRUSTED:+--volume "$TRUSTED:$TRUSTED:ro"} "$IMAGE" -c '
  IFS= read -r PGPASSWORD
  export PGPASSWORD
  exec pg_basebackup --dbname="host=$1 port=$2 user=rpc_node_replica application_name=$3 connect_timeout=10 $4" --slot="$3" --pgdata=/copy \
    --wal-method=stream --checkpoint=fast --write-recovery-conf --no-password' sh "$ADDRESS" "$PORT" "$SLOT" "$VERIFYING" <"$PASSWORD_FILE" ||
  fail "the database server at $ADDRESS:$PORT does not send a whole copy"
[ -e "$copy/data/standby.signal" ] || fail 'the copy is not one of a replica'
# A recovery of the server has left the timeline where it ended: a replica goes on to the next one.
sed -i -E '/^(restore_command|recovery_[a-z_]*) *=/d' "$copy/data/postgresql.auto.conf" || fail "the settings in $copy/data cannot be written"
sync -f "$copy/data"
put_in_place "$DATA" standby.signal || fail "the copy cannot be moved into $DATA"
rm -f "$PASSWORD_FILE"
