#!/bin/sh
# Copies a running database server as a physical snapshot: pieces of one compressed tar stream, and a manifest of them. Run as a transient
# systemd unit, so that it outlives the connection. It asks nothing of the synchronizer: the copy is as after a crash at its end.
#
# All files are made in a folder .part. The manifest is renamed last: pieces without it are not a snapshot.
#
# Settings:
#   FOLDER           where the snapshot goes
#   DATABASE_USER    superuser of the container state-db; STATE_DATABASE, STATE_TABLE, PROVER_DATABASE, PROVER_USER
#   PIECE            bytes of the tar stream in a piece, a multiple of 512
#   MANIFEST         JSON: what the inventory knows of the snapshot
set -u
umask 077
export LC_ALL=C TZ=UTC
part=$FOLDER/.part
name=rpc-node-physical
fail() { printf '%s\n' "$*" >&2; exit 1; }
sql() { docker exec -i state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$DATABASE_USER" -d "$STATE_DATABASE" "$@"; }
# Ends what a killed run left in the server: a copy that nobody reads, and the session that keeps log for it.
end_sessions() {
  sql -c "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = '$name' and pid <> pg_backend_pid()" >/dev/null
}
end() {
  trap - EXIT TERM INT
  # shellcheck disable=SC2046 # process ids
  kill $(jobs -p) 2>/dev/null
  end_sessions
  [ -e "$FOLDER/manifest.json" ] || rm -f "$FOLDER"/piece-*
  rm -rf "$part"
}

# Cuts a tar stream from standard input into compressed pieces, and writes down where each member begins.
cut_stream() {
  mkfifo "$part/index.in" || return
  { tar --list --verbose --block-number --numeric-owner --quoting-style=literal --file=- 2>/dev/null; cat >/dev/null; } \
    <"$part/index.in" >"$part/index" &
  index=$!
  # shellcheck disable=SC2016 # it is for the shell of each piece
  tee -p "$part/index.in" | (cd "$part" && SHELL=/bin/sh split --numeric-suffixes --suffix-length=6 --bytes="$PIECE" \
    --filter='zstd -3 -T0 -q -o "$FILE.tar.zst" - && sha256sum "$FILE.tar.zst" >"$FILE.sum"' - piece-) || return
  wait "$index"
}

# Prints the pieces as JSON: name, SHA-256, bytes, bytes of the tar stream; and of a file that is in several pieces what is in this one.
describe_pieces() {
  for each in "$part"/piece-*.tar.zst; do
    echo "piece $(basename "$each") $(cut -d' ' -f1 "${each%.tar.zst}.sum") $(stat -c %s "$each")"
  done >"$part/sums"
  cat "$part/index" "$part/sums" | awk -v size="$PIECE" -v last_size="$(zstd -dcq "$each" | wc -c)" '
    BEGIN { members = pieces = 0 }
    function up(n) { return int((n + 511) / 512) * 512 }
    function json(path) { gsub(/[\\"]/, "\\\\&", path); return "\"" path "\"" }
    $1 == "block" && $3 ~ /^[-d]/ {
      begin[members] = substr($2, 1, length($2) - 1) * 512; bytes[members] = $5
      end[members] = begin[members] + 512 + up($5)
      for (field = 1; field < 8; field++) sub(/^[^ ]+ +/, "")
      path[members++] = $0
    }
    $1 == "block" && $3 ~ /^[lh]/ { print "a link" > "/dev/stderr"; exit 1 }
    $1 == "piece" { file[pieces] = $2; sum[pieces] = $3; length_of[pieces++] = $4 }
    END {
      m = 0
      for (p = 0; p < pieces; p++) {
        from = p * size; raw = p == pieces - 1 ? last_size : size; to = from + raw
        printf "%s    { \"file\": \"%s\", \"sha256\": \"%s\", \"bytes\": %d, \"raw\": %d", p ? ",\n" : "", file[p], sum[p], length_of[p], raw
        while (m < members && end[m] <= from) m++
        if (m < members && begin[m] < from) {
          at = from - begin[m] - 512; n = bytes[m] - at; if (n > raw) n = raw
          printf ", \"first\": { \"path\": %s, \"at\": %d, \"bytes\": %d }", json(path[m]), at, n
        }
        while (m < members && end[m] <= to) m++
        if (m < members && begin[m] >= from && begin[m] < to)
          printf ", \"last\": { \"path\": %s, \"bytes\": %d }", json(path[m]), to - begin[m] - 512
        printf " }"
      }
      print ""
    }'
}

[ ! -e "$FOLDER/manifest.json" ] || { echo "$FOLDER holds a snapshot already"; exit 0; }
command -v zstd >/dev/null || fail 'zstd is not installed'
mkdir -p "$FOLDER" || fail "$FOLDER cannot be made"
# What a run left that was ended in between. Pieces without .part are somebody else's.
if [ ! -d "$part" ]; then
  for each in "$FOLDER"/piece-*; do [ ! -e "$each" ] || fail "$each is there already, and is not of a snapshot that was interrupted"; done
fi
trap end EXIT
trap 'exit 1' TERM INT
trap '' PIPE
rm -rf "$part" "$FOLDER"/piece-*
mkdir "$part" || fail "$FOLDER cannot be written"
end_sessions || fail 'state-db does not answer'

size=$(sql -c 'select sum(pg_database_size(oid)) from pg_database where datallowconn') || fail 'state-db does not answer'
free=$(df -B1 --output=avail "$FOLDER" | tail -n 1)
[ "$free" -gt "$size" ] || fail "$FOLDER has $free bytes free, and the databases have $size: the pieces may need as many"

# The log of the time of the copy is kept by a slot of this session: it ends with it, whatever ends this script.
mkfifo "$part/keeper"
docker exec -i --env PGAPPNAME="$name" state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$DATABASE_USER" -d "$STATE_DATABASE" \
  <"$part/keeper" >"$part/kept" 2>"$part/keeper.err" &
keeper=$!
exec 3>"$part/keeper"
echo "select 'kept' from pg_create_physical_replication_slot('rpc_node_snapshot', true, true);" >&3
until grep -q kept "$part/kept"; do
  kill -0 "$keeper" 2>/dev/null || fail "no slot keeps log for the copy: $(sed -n 's/^.*\(ERROR\|FATAL\|error\): *//p' "$part/keeper.err" | head -n 1)"
  sleep 0.05
done

# The block is in the copy, and so is what comes until its end.
known=$(sql --set=prover="$PROVER_DATABASE" --set=prover_user="$PROVER_USER" --set=known="$MANIFEST" \
  --set=architecture="$(uname -m)" --set=image="$(docker inspect --format '{{.Image}}' state-db)" --set=table="$STATE_TABLE" <<'SQL'
select :'known'::jsonb || jsonb_build_object(
  'taken_at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'date', to_char(now() at time zone 'UTC', 'YYYY-MM-DD'),
  'postgres', current_setting('server_version_num')::int / 10000, 'architecture', :'architecture', 'image', :'image',
  'collation', (select datcollversion from pg_database where datname = current_database()),
  'superuser', (select rolname from pg_roles where oid = 10),
  'state_oid', (select oid::bigint from pg_database where datname = current_database()),
  'prover_oid', (select oid::bigint from pg_database where datname = :'prover'),
  'prover_role_oid', (select oid::bigint from pg_roles where rolname = :'prover_user'),
  'migrations', (select coalesce(jsonb_agg(id order by id), '[]') from public.gorp_migrations))
  || (select jsonb_build_object('block', block_num, 'hash', block_hash) from state.l2block order by block_num desc limit 1)
SQL
) || fail 'state-db does not say what it holds'
[ -n "$known" ] || fail 'the state database holds no block'

docker exec state-db pg_basebackup --username="$DATABASE_USER" --dbname="application_name=$name" --no-password --pgdata=- --format=tar \
  --wal-method=fetch --checkpoint=fast 2>"$part/said" | cut_stream 2>"$part/cut" || fail "the pieces cannot be written: $(tail -n 1 "$part/cut")"
# pg_basebackup writes this after the last file, and only then.
grep -q 'Block of NULs' "$part/index" || fail "state-db does not send a whole copy: $(tail -n 1 "$part/said")"
exec 3>&-
pieces=$(describe_pieces 2>"$part/cut") || fail "state-db cannot be copied as a snapshot: its data directory holds $(tail -n 1 "$part/cut")"
printf '%s,\n  "pieces": [\n%s\n  ]\n}\n' "${known%\}}" "$pieces" >"$part/manifest.json"
rm -f "$part"/piece-*.sum
sync -f "$part" || fail 'the files could not be written to the disk'
mv "$part"/piece-*.tar.zst "$FOLDER" || fail "$FOLDER cannot be written"
sync -f "$FOLDER"
mv "$part/manifest.json" "$FOLDER/manifest.json" || fail "$FOLDER cannot be written"
sync -f "$FOLDER"
echo "the snapshot is in $FOLDER"
