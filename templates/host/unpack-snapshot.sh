#!/bin/sh
# Makes the data directory of state-db from a physical snapshot. A worker fetches a piece into a file, verifies it, unpacks it, and removes the
# file; there are two workers for each connection, so that one unpacks while the other fetches. The files are in memory where there is plenty of
# it, so that the disk writes each byte once. It may be ended at any moment: pieces that are unpacked are not fetched again. Nothing is in the
# data directory before the databases in it are whole. The functions of data-place.sh, claim-databases.sh and fetch.sh are before this text.
#
# What is unpacked (folder done) counts until the machine starts again. What is on the disk for sure (folder kept) counts for ever. One
# process asks the disk for that all the time: a worker that waited for the disk after each piece would leave the network idle.
#
# A piece is a part of one file, or of one tar stream. Where the stream is cut within a file, the list of pieces says so: then its first or
# last bytes are written into that file, and each piece can be unpacked without the others.
#
# Settings, besides those of claim-databases.sh:
#   IMAGE            of state-db
#   DATA             the data directory of state-db: absent or empty
#   URL, SHOWN       of the folder with the pieces, with / at its end; and its name in messages
#   KEYS             file with settings of curl that sign requests for a storage; empty for a web server. It is removed as PASSWORD_FILE is
#   MANIFEST         SHA-256 of the manifest
#   PIECES           a line for each piece, fields separated by spaces: file, SHA-256, bytes, decompressed bytes; then path, offset and bytes
#                    of the part of a file that it begins with; then path and bytes of the part that it ends with. - without one
#   CONNECTIONS      how many pieces are fetched at the same time, and as many are unpacked beside them
#   PASSWORD_FILE    passwords of both users, a line each; it is removed at the end, also of a run that fails
#   BLOCK, HASH      of the block that the snapshot has at least; STATE_TABLE, PROVER_TABLE, the main tables
#   SNAPSHOT         day of the snapshot
set -u
umask 077
export LC_ALL=C
fail() { printf '%s\n' "$*" >&2; exit 1; }
container=rpc-node-unpack
# A link has the copy on the file system that it leads to.
DATA=$(readlink -m "$DATA")
copy=$(place_of_copy "$DATA")

# Decompresses a piece in the container, right into its file: through a pipe it would take a fifth more of the processor. Arguments: piece, path,
# offset, bytes
# shellcheck disable=SC2016 # it is for the shell in the container
decompress='
  set -eu
  umask 077
  cd /copy/data
  mkdir -p "$(dirname "$2")"
  exec 3<>"$2"
  dd count=0 oflag=seek_bytes seek="$3" conv=notrunc status=none >&3
  zstd -dcq <"$1" >&3
  [ "$(sed -n "s/^pos:[[:space:]]*//p" /proc/self/fdinfo/3)" = $(($3 + $4)) ] || { echo "it has not the length that the manifest names" >&2; exit 1; }'

# Unpacks a piece in the container, from a named pipe. A line follows the piece where all of it came.
# shellcheck disable=SC2016 # it is for the shell in the container
place='
  set -eu
  umask 077
  exec <"$1"
  shift
  raw=$1 first=$2 at=$3 first_bytes=$4 last=$5 last_bytes=$6
  cd /copy/data
  put() {
    mkdir -p "$(dirname "$1")"
    dd of="$1" conv=notrunc oflag=seek_bytes seek="$2" bs=64k iflag=fullblock,count_bytes count="$3" status=none
  }
  pass() { dd bs=64k iflag=fullblock,count_bytes count="$1" status=none; }
  if [ "$first" != - ]; then
    put "$first" "$at" "$first_bytes"
    padding=$(((512 - first_bytes % 512) % 512))
    pass "$padding" >/dev/null
    raw=$((raw - first_bytes - padding))
  fi
  if [ "$last" != - ]; then raw=$((raw - 512 - last_bytes)); fi
  if [ "$raw" -gt 0 ]; then pass "$raw" | { tar -xf - && cat >/dev/null; }; fi
  if [ "$last" != - ]; then
    pass 512 >/dev/null
    put "$last" 0 "$last_bytes"
  fi
  [ "$(head -c 6)" = whole ] || { echo "it has not the length that the manifest names" >&2; exit 1; }'

# Fetches, verifies and unpacks a piece. No byte of it is unpacked before all of it is verified. Arguments: connection, number, then the fields
# of its line
unpack() {
  connection=$1 number=$2 file=$3 sha256=$4 bytes=$5
  shift 5
  own=$work/$number piece=$copy/pieces/$number
  rm -rf "$own" "$piece"
  mkdir -p "$own" && true >"$own/said" || return
  (flock 9 && fetch_file "$SHOWN$file" "$URL$file" "$bytes" "$piece" "$own") 9>"$work/connection.$connection" || return
  found=$(sha256_of "$piece")
  if [ "$found" != "$sha256" ]; then
    rm -f "$piece"
    echo "$SHOWN$file is corrupted, or not the piece that the manifest names: SHA-256 $found, wanted $sha256" >&2
    return 1
  fi
  if [ "$1" = "$4" ] && [ "$can_decompress" = yes ]; then
    chmod 644 "$piece"
    docker exec "$container" sh -c "$decompress" sh "/copy/pieces/$number" "$2" "$3" "$4" 2>"$own/said"
  else
    place_from_pipe "$@"
  fi
  code=$?
  if grep -q 'No space left on device' "$own/said"; then no_room "$(dirname "$copy")" "$SHOWN$file" >&2; return 1; fi
  [ "$code" = 0 ] || { echo "$file cannot be unpacked: $(tail -n 1 "$own/said")" >&2; return 1; }
  rm -f "$piece"
  : >"$copy/done/$number" && rm -rf "$own"
}

# Unpacks $piece by the zstd of this host. By a named pipe: standard input of a container goes through three programs.
place_from_pipe() {
  pipe=$copy/pipes/$number
  rm -f "$pipe" && mkfifo -m 644 "$pipe" 2>"$own/said" || return
  { zstd -dcq <"$piece" && echo whole; } >"$pipe" 2>"$own/zstd" &
  writer=$!
  docker exec "$container" sh -c "$place" sh "/copy/pipes/$number" "$@" 2>"$own/said"
  placed=$?
  kill "$writer" 2>/dev/null
  wait "$writer" 2>/dev/null
  rm -f "$pipe"
  [ -s "$own/said" ] || mv "$own/zstd" "$own/said"
  return "$placed"
}

# Prints the SHA-256 of a file. OpenSSL uses the instructions of the processor for it, and takes a fifth of the time.
sha256_of() {
  if command -v openssl >/dev/null; then openssl dgst -sha256 -r "$1"; else sha256sum <"$1"; fi | cut -d' ' -f1
}

# Writes to the disk what is unpacked, and notes that. It may be ended at any moment.
keep() {
  unpacked=$(ls "$copy/done") && sync -f "$copy" || return
  for each in $unpacked; do touch "$copy/kept/$each" && rm -f "$copy/done/$each" || return; done
}

# Again and again: the disk would wait for the end otherwise, and a machine that fails loses a moment of work.
keep_unpacked() { while sleep 5; do keep; done; }

# A file system in memory for the pieces, if they take at most a quarter of what is available. Without it they are on the disk.
pieces_in_memory() {
  largest=$(printf '%s\n' "$PIECES" | awk '$3 > most { most = $3 } END { printf "%.0f", most }')
  size=$((2 * CONNECTIONS * (largest + 1048576)))
  available=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo) * 1024))
  if [ $((4 * size)) -le "$available" ]; then mount -t tmpfs -o "size=$size,mode=755" tmpfs "$copy/pieces" 2>/dev/null; fi
}

# Unpacks pieces that no other worker has taken. Argument: the number of the worker
work_through() {
  number=0
  printf '%s\n' "$PIECES" | while IFS=' ' read -r file sha256 bytes raw first at first_bytes last last_bytes; do
    number=$((number + 1))
    if [ -e "$copy/done/$number" ] || [ -e "$copy/kept/$number" ]; then continue; fi
    if ! mkdir "$work/taken.$number" 2>/dev/null; then
      [ -d "$work/taken.$number" ] && continue
      echo "$work cannot be written" >&2
      exit 1
    fi
    [ ! -e "$work/failed" ] || exit 1
    # It may have been changed on its way.
    for again in yes no; do
      unpack $(($1 % CONNECTIONS)) "$number" "$file" "$sha256" "$bytes" "$raw" "$first" "$at" "$first_bytes" "$last" "$last_bytes" </dev/null 2>"$work/$1.said" && break
      if [ "$again" = no ] || ! grep -q 'is corrupted' "$work/$1.said"; then
        : >"$work/failed"
        cat "$work/$1.said" >&2
        exit 1
      fi
    done
  done
}

# Proves that the copy is the snapshot. Arguments: database, what has to be so, SQL that selects t or what is wrong
expect_in_copy() {
  said=$(copy_sql "$STATE_USER" "$1" -c "$3" </dev/null 2>&1)
  [ "$said" = t ] || fail "$2: $said"
}

trap 'rm -f "$PASSWORD_FILE" ${KEYS:+"$KEYS"}' EXIT
trap 'exit 1' TERM INT
if [ -n "$KEYS" ]; then
  # shellcheck disable=SC2034 # of fetch.sh
  SIGNING=$(cat "$KEYS") || fail 'the keys of the storage are not there any more: run it again'
  can_sign >&2 || exit 1
fi
[ -z "$(docker ps --all --quiet --filter 'name=^/state-db$' --filter status=running --filter status=restarting)" ] || fail 'state-db runs here'
if is_half_placed "$DATA" PG_VERSION; then
  put_in_place "$DATA" PG_VERSION || fail "the copy cannot be moved into $DATA"
  exit
fi
[ -z "$(held_in "$DATA")" ] || fail "$DATA holds data"
docker rm --force --volumes "$container" >/dev/null 2>&1
remove_pieces "$copy"
# A recovery, or a copy that got into its place, may have left notes without the files that they are of.
if [ "$(cat "$copy/of" 2>/dev/null)" != "$MANIFEST" ] || [ ! -d "$copy/data" ] || [ -e "$copy/lists" ]; then
  remove_copy "$copy" || fail "$copy cannot be removed"
fi
start=$(cat /proc/sys/kernel/random/boot_id)
[ "$(cat "$copy/start" 2>/dev/null)" = "$start" ] || rm -rf "$copy/done"
rm -rf "$copy/run" "$copy/pipes"
mkdir -p "$copy/data" "$copy/run" "$copy/done" "$copy/kept" || fail "$copy cannot be made"
mkdir -m 755 "$copy/pieces" "$copy/pipes" || fail "$copy cannot be made"
# Messages have to go out also when the disk of the copy is full.
work=$(mktemp -d) || fail 'there is no room for temporary files'
keeper=
# shellcheck disable=SC2086 # none where it does not run
trap 'kill $keeper 2>/dev/null; docker rm --force --volumes "$container" >/dev/null 2>&1; remove_pieces "$copy"; rm -rf "$work" "$PASSWORD_FILE" ${KEYS:+"$KEYS"}' EXIT
echo "$MANIFEST" >"$copy/of"
echo "$start" >"$copy/start"
pieces_in_memory
docker run --rm --user root --entrypoint chown --volume "$copy/data:/copy/data" --volume "$copy/run:/copy/run" "$IMAGE" \
  postgres:postgres /copy/data /copy/run || fail "$copy cannot be given to the user postgres of $IMAGE"
docker run --detach --name "$container" --network none --user postgres --entrypoint sleep --volume "$copy/data:/copy/data" \
  --volume "$copy/run:/copy/run" --volume "$copy/pipes:/copy/pipes:ro" --volume "$copy/pieces:/copy/pieces:ro" "$IMAGE" infinity >/dev/null ||
  fail "a container of $IMAGE does not start"
# The images of PostgreSQL have it (https://github.com/docker-library/postgres), another one may not.
if docker exec "$container" sh -c 'command -v zstd' >/dev/null; then can_decompress=yes; else can_decompress=no; fi

keep_unpacked >/dev/null 2>&1 &
keeper=$!
workers=$((2 * CONNECTIONS))
running=
for each in $(seq "$workers"); do
  work_through "$each" &
  running="$running $!"
done
whole=yes
for each in $running; do wait "$each" || whole=no; done
[ "$whole" = yes ] || exit 1
for each in $(seq "$(printf '%s\n' "$PIECES" | wc -l)"); do
  [ -e "$copy/done/$each" ] || [ -e "$copy/kept/$each" ] || fail "piece $each is not unpacked"
done
kill "$keeper"
# From here on a server changes the files. No piece may be unpacked over them, also after a power failure: the notes have to be on the disk.
{ keep && sync -f "$copy"; } || fail "what is unpacked cannot be written to the disk of $copy"

echo 'all pieces are unpacked'
start_copy
claim_databases
# On standard input, and not logged by the server.
copy_sql "$STATE_USER" postgres <<SQL || fail 'the passwords of the inventory cannot be set'
set log_statement = 'none';
set log_min_duration_statement = -1;
set log_min_error_statement = 'panic';
alter role :"state_user" password '$(sed -n 1p "$PASSWORD_FILE")';
alter role :"prover_user" password '$(sed -n 2p "$PASSWORD_FILE")';
SQL
expect_in_copy "$STATE_DATABASE" "the snapshot has not block $BLOCK of its manifest" \
  "select coalesce((select case block_hash when '$HASH' then 't' else 'its hash is ' || block_hash end from $STATE_TABLE where block_num = $BLOCK), 'there is no such block')"
expect_in_copy "$STATE_DATABASE" 'the state database has no migrations' 'select exists (select from public.gorp_migrations)'
expect_in_copy "$PROVER_DATABASE" "$PROVER_TABLE has no rows" "select exists (select from $PROVER_TABLE)"
expect_in_copy "$PROVER_DATABASE" "$PROVER_TABLE is not of $PROVER_USER" \
  "select case pg_get_userbyid(relowner) when '$PROVER_USER' then 't' else 'it belongs to ' || pg_get_userbyid(relowner) end from pg_class where oid = '$PROVER_TABLE'::regclass"
for each in "$STATE_DATABASE $STATE_TABLE" "$PROVER_DATABASE $PROVER_TABLE"; do
  copy_sql "$STATE_USER" "${each%% *}" --set=table="${each#* }" --set=manifest="$MANIFEST" --set=date="$SNAPSHOT" <<'SQL' || fail 'the databases cannot be marked as restored'
select format('comment on database %I is %L', current_database(), 'rpc-playbooks: ' || cast(jsonb_build_object('restore', 'complete',
  'sha256', :'manifest', 'snapshot', :'date', 'table', to_regclass(:'table')::oid::bigint, 'at', date_trunc('second', now()), 'ours', false) as text)) \gexec
SQL
done
stop_copy
docker rm --force --volumes "$container" >/dev/null 2>&1
sync -f "$copy"
put_in_place "$DATA" PG_VERSION || fail "the copy cannot be moved into $DATA"
echo 'the snapshot is in its place'
