#!/bin/sh
# Copies a database server as a physical snapshot: compressed pieces, and a manifest of them. Run as a transient systemd unit, so that it
# outlives the connection. It asks nothing of the synchronizer: the copy is as after a crash at its end.
#
# A large file has pieces of its own, so that they can be decompressed into it without a program in between. All other files are in pieces of
# one tar stream.
#
# The source is the server or the replica of this host, while it runs, or the repository of this host, the backup host. Passwords and addresses in
# files of a running server do not get into the stream.
#
# All files are made in a folder .part. The manifest is renamed last: pieces without it are not a snapshot. The functions of
# base-backups.sh and claim-databases.sh are before this text.
#
# One to be published is of a copy of the server that was started by itself, and has lost what is of this deployment alone: roles, passwords,
# settings, and all rows and log in which they were. One of the repository is started by itself in any case, so it loses the same.
#
# Settings:
#   FOLDER           where the snapshot goes
#   DATABASE_USER    superuser of the container state-db; STATE_DATABASE, STATE_TABLE, PROVER_DATABASE, PROVER_USER
#   PIECE            bytes of a file or of the tar stream in a piece, a multiple of 512
#   MANIFEST         JSON: what the inventory knows of the snapshot
#   PUBLISH          true: for others
#   SOURCE           server, or repository
#   RECOVERY         program that recovers from the repository; STAGED, a folder of its user in which it may; CONF, the settings of that program
set -u
if [ "$PUBLISH" = true ]; then umask 022; else umask 077; fi
# Who is served on this host goes first.
renice -n 19 -p $$ >/dev/null 2>&1
ionice -c 3 -p $$ 2>/dev/null
if [ "$SOURCE" = repository ]; then
  # REPOSITORY and IMAGE.
  # shellcheck source=/dev/null
  . "$CONF"
fi
export LC_ALL=C TZ=UTC
part=$FOLDER/.part
name=rpc-node-physical
container=rpc-node-publish
copy=$part/copy
fail() { printf '%s\n' "$*" >&2; exit 1; }
source_database=$STATE_DATABASE
sql() { docker exec -i state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$DATABASE_USER" -d "$source_database" "$@"; }
# Ends what a killed run left in the server: a copy that nobody reads, and the session that keeps log for it.
end_sessions() {
  [ "$SOURCE" = server ] || return 0
  sql -c "select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = '$name' and pid <> pg_backend_pid()" >/dev/null
}
end() {
  trap - EXIT TERM INT
  [ -z "${keeper:-}" ] || kill "$keeper" 2>/dev/null
  end_sessions
  [ -e "$FOLDER/manifest.json" ] || rm -f "$FOLDER"/piece-*
  remove_part
  rm -rf "$said"
}
# Removes the folder of a copy that is not whole. The copy of the repository is in a folder of another user.
remove_part() {
  docker rm --force --volumes "$container" >/dev/null 2>&1
  ! mountpoint -q "$copy/data" || umount "$copy/data" || umount --lazy "$copy/data"
  rm -rf "$part"
  [ "$SOURCE" = server ] || rm -rf "$STAGED" "$STAGED.offer"
}

# Writes down the files that get pieces of their own: those of databases that are larger than an eighth of a piece. Arguments: how a program
# runs beside the data directory. tar would take an empty list for all files, so the list has a name that no file has.
list_large() {
  {
    echo .part
    # shellcheck disable=SC2016 # it is for the shell beside the data directory
    "$@" sh -c 'cd "$1" && find base -type f -size +"$2"c' sh "$data" $((PIECE / 8)) | grep -x '[a-z0-9_./]*'
  } | sort >"$part/large" || fail "$FOLDER cannot be written"
}

# Cuts a large file from standard input into compressed pieces. tar gives it TAR_FILENAME and TAR_SIZE, and a umask of 0. An empty file gets a
# piece, too. The first failure ends tar, and so the whole copy.
# shellcheck disable=SC2016 # it is for the shell that tar starts
cut_file='
  set -e
  umask "$mask"
  trap "[ \$? = 0 ] || kill $PPID 2>/dev/null" EXIT
  at=0
  while :; do
    bytes=$((TAR_SIZE - at))
    [ "$bytes" -le "$PIECE" ] || bytes=$PIECE
    piece=$(printf piece-%06d.zst "$(grep -c ^part "$part/parts")")
    { dd bs=64k iflag=fullblock,count_bytes count="$bytes" status=none || kill "$PPID" 2>/dev/null; } | zstd -3 -T0 -q -o "$part/$piece" -
    sum=$(sha256sum <"$part/$piece")
    echo "part $piece ${sum%% *} $(stat -c %s "$part/$piece") $at $bytes $TAR_FILENAME" >>"$part/parts"
    at=$((at + bytes))
    [ "$at" -lt "$TAR_SIZE" ] || break
  done
  echo "whole $TAR_FILENAME" >>"$part/parts"'

# Cuts the files of the server into pieces: large ones into their own, and the rest into those of one tar stream. Writes down where each member
# of that stream begins. A program that fails ends all of them.
cut_snapshot() {
  mkfifo "$part/large.in" "$part/index.in" && true >"$part/parts" && sed 's/^/^/' "$part/large" >"$part/left-out" || return
  {
    mask=$(umask)
    export mask part PIECE
    tar --extract --to-command="$cut_file" --verbatim-files-from --files-from="$part/large" --file=- 2>"$said/large"
    # It misses a file of the list in any case, and says so by 2.
    case $? in 0 | 2) grep -q 'not recoverable' "$said/large" || cat >/dev/null ;; esac
  } <"$part/large.in" &
  large=$!
  { tar --list --verbose --block-number --numeric-owner --quoting-style=literal --file=- 2>/dev/null && cat >/dev/null; } \
    <"$part/index.in" >"$part/index" &
  index=$!
  send_snapshot | tee --output-error=exit "$part/large.in" 2>/dev/null | select_files |
    tee --output-error=exit "$part/index.in" 2>/dev/null | split_stream
  cut=$?
  wait "$index" "$large"
  [ "$cut" = 0 ] && [ -z "$(reason)" ]
}

# Takes the files of a server from a tar stream (https://www.postgresql.org/docs/15/storage-file-layout.html). It leaves out large files, and
# those that say whom the server follows and who may connect: a new server gets its own. A file that is not named here stays out. GNU tar
# has --delete, but may run for ever where the stream breaks off.
select_files() {
  bsdtar -cf - --format=gnutar --exclude '^pg_hba.conf' --exclude '^pg_ident.conf' --exclude-from "$part/left-out" \
    --include '^base' --include '^global' --include '^pg_*' --include '^PG_VERSION' --include '^postgresql.conf' --include '^backup_label' \
    --include '^tablespace_map' --include '^backup_manifest' @- 2>"$said/select" && true >"$part/selected"
}

split_stream() {
  cd "$part" || return
  # shellcheck disable=SC2016 # it is for the shell of each piece
  SHELL=/bin/sh split --numeric-suffixes --suffix-length=6 --bytes="$PIECE" \
    --filter='{ zstd -3 -T0 -q -o "$FILE.tar.zst" - && sha256sum "$FILE.tar.zst" >"$FILE.sum"; } || kill "$PPID" 2>/dev/null' - piece-
}

# Prints why a piece cannot be written. When one program fails, others complain of its end: these lines are not the reason.
reason() { cat "$said/large" "$said/cut" | grep -vE '^(tar|split): |^dd: .*Broken pipe$|^Terminated$|^$' | head -n 1; }

# Whether each large file has all its pieces. One that was removed before it was sent has none.
large_are_whole() {
  { sed -n 's/^whole //p' "$part/parts"; sed -n 's/^tar: \(.*\): Not found in archive$/\1/p' "$said/large"; } | sort | cmp -s - "$part/large"
}

# Prints the pieces as JSON: name, SHA-256, bytes, decompressed bytes; and of a file that is in several pieces what is in this one.
describe_pieces() {
  for each in "$part"/piece-*.tar.zst; do
    echo "piece $(basename "$each") $(cut -d' ' -f1 "${each%.tar.zst}.sum") $(stat -c %s "$each")"
  done >"$part/sums"
  cat "$part/index" "$part/sums" "$part/parts" | awk -v size="$PIECE" -v last_size="$(zstd -dcq "$each" | wc -c)" '
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
    $1 == "part" {
      parts = parts sprintf(",\n    { \"file\": \"%s\", \"sha256\": \"%s\", \"bytes\": %d, \"raw\": %d", $2, $3, $4, $6)
      parts = parts sprintf(", \"first\": { \"path\": %s, \"at\": %d, \"bytes\": %d } }", json($7), $5, $6)
    }
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
      print parts
    }'
}

# What is known of the databases, as JSON. Arguments: how SQL is run
facts() {
  "$@" --set=prover="$PROVER_DATABASE" --set=prover_role="$PROVER_USER" --set=known="$MANIFEST" --set=table="$STATE_TABLE" \
    --set=architecture="$(uname -m)" --set=image="$image" <<'SQL'
select :'known'::jsonb || jsonb_build_object(
  'taken_at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'date', to_char(now() at time zone 'UTC', 'YYYY-MM-DD'),
  'postgres', current_setting('server_version_num')::int / 10000, 'architecture', :'architecture', 'image', :'image',
  -- Without a version the rules are those of bytes, which never change, or of a C library that has none.
  'collation', (select case when datcollate ~* '^(c|posix|c[.].*)$' then datcollversion else coalesce(datcollversion, 'none') end
    from pg_database where datname = current_database()),
  'superuser', (select rolname from pg_roles where oid = 10),
  'state_oid', (select oid::bigint from pg_database where datname = current_database()),
  'prover_oid', (select oid::bigint from pg_database where datname = :'prover'),
  'prover_role_oid', (select oid::bigint from pg_roles where rolname = :'prover_role'),
  'migrations', (select coalesce(jsonb_agg(id order by id), '[]') from public.gorp_migrations))
  || (select jsonb_build_object('block', block_num, 'hash', block_hash) from state.l2block order by block_num desc limit 1)
SQL
}

send_server() {
  docker exec state-db pg_basebackup --username="$DATABASE_USER" --dbname="application_name=$name" --no-password --pgdata=- --format=tar \
    --wal-method=fetch --checkpoint=fast 2>"$said/server"
}

# The files of a server in $copy/data. The repository gives a data directory with all log that arrived.
fill_copy() {
  if [ "$SOURCE" = server ]; then
    send_server | in_copy tar -xf - -C /copy/data 2>"$said/cut" || fail "the copy cannot be written: $(tail -n 1 "$said/cut")"
    in_copy test -e /copy/data/backup_manifest || fail "state-db does not send a whole copy: $(tail -n 1 "$said/server")"
    exec 3>&-
    return
  fi
  RECOVERY_CONF=$CONF "$RECOVERY" copy "$STAGED" latest 2>"$said/server" || fail "the repository cannot be recovered: $(tail -n 1 "$said/server")"
  # The folder around it is that user's, who could put a link there: what is here now gets a place of root's.
  (cd -P "$STAGED/data" && [ "$(stat -c %u .)" = "$(stat -c %u "$REPOSITORY")" ] && mount --bind . "$copy/data") ||
    fail "$STAGED is not of the user of the repository any more"
}

# Makes a copy of the server in a container, and takes from it what is of this deployment alone.
# shellcheck disable=SC2034 # the functions of claim-databases.sh use them
copy_for_others() {
  IMAGE=$own_image SOURCE_USER=$DATABASE_USER
  mkdir "$copy" || fail "$copy cannot be made"
  mkdir -m 700 "$copy/data" "$copy/run"
  [ "$SOURCE" = server ] || fill_copy
  docker run --rm --user root --entrypoint chown --volume "$copy/data:/copy/data" --volume "$copy/run:/copy/run" "$IMAGE" \
    -R --no-dereference postgres:postgres /copy/data /copy/run || fail "$copy cannot be given to the user postgres of $IMAGE"
  docker run --detach --name "$container" --network none --user postgres --entrypoint sleep --volume "$copy/data:/copy/data" \
    --volume "$copy/run:/copy/run" "$IMAGE" infinity >/dev/null || fail "a container of $IMAGE does not start"
  if [ "$SOURCE" = server ]; then
    fill_copy
    start_copy
  else
    start_copy newest
  fi
  of_prover=$PROVER_DATABASE of_role=$PROVER_USER
  STATE_USER=rpc_node_owner STATE_DATABASE=state_db PROVER_USER=rpc_node_prover PROVER_DATABASE=prover_db
  oids=$(copy_sql "$SOURCE_USER" "$source_database" --field-separator=' ' --set=prover="$of_prover" --set=prover_role="$of_role" <<'SQL'
select d.oid, p.oid, r.oid from pg_database d, pg_database p, pg_roles r
where d.datname = current_database() and p.datname = :'prover' and r.rolname = :'prover_role'
SQL
  ) || fail 'the copy does not answer'
  read -r STATE_OID PROVER_OID PROVER_ROLE_OID <<END
$oids
END
  [ -n "$PROVER_ROLE_OID" ] || fail 'the copy has not the databases and the users of the inventory'
  claim_databases
  forget_deployment
}

# Removes what the copy still has of the deployment, also from rows that were deleted, from statistics of columns, and from the log. Somebody may
# have put something into the databases that every server has: these are dropped, and created from template0.
forget_deployment() {
  copy_sql "$STATE_USER" "$STATE_DATABASE" <<'SQL' || fail 'the copy cannot be made fit for others'
alter database template1 is_template false;
drop database template1;
create database template1 template template0 is_template true;
drop database postgres;
create database postgres template template0;
SQL
  copy_sql "$STATE_USER" postgres <<'SQL' || fail 'the copy cannot be made fit for others'
alter role :"state_user" password null;
alter role :"prover_user" password null;
select format('drop database %I', datname) from pg_database where oid >= 16384 and datname not in ('state_db', 'prover_db', 'postgres', 'template1') \gexec
select format('comment on database %I is null', datname) from pg_database where oid >= 16384 \gexec
delete from pg_subscription;
-- Its statistics have the name and the password of the first superuser.
alter database template0 allow_connections true;
SQL
  for each in template0 template1 postgres prover_db state_db; do
    copy_sql "$STATE_USER" "$each" <<'SQL' || fail "database $each of the copy cannot be made fit for others"
select format('drop server %I cascade', srvname) from pg_foreign_server \gexec
delete from pg_statistic where starelid in (select oid from pg_class where relisshared);
select format('vacuum full %s', oid::regclass) from pg_class where relkind = 'r' and relnamespace = 'pg_catalog'::regnamespace \gexec
SQL
  done
  copy_sql "$STATE_USER" postgres -c 'alter database template0 allow_connections false' </dev/null || fail 'the copy cannot be made fit for others'
  known=$(facts copy_sql "$STATE_USER" "$STATE_DATABASE") || fail 'the copy does not say what it holds'
  stop_copy
  # shellcheck disable=SC2016 # it is for the shell in the container
  in_copy sh -euc '
    cd /copy/data
    pg_resetwal --pgdata=. >/dev/null
    : >postgresql.auto.conf
    for each in * .[!.]*; do
      case $each in
        base | global | PG_VERSION | pg_hba.conf | pg_ident.conf | postgresql.conf | postgresql.auto.conf) ;;
        pg_stat | pg_stat_tmp | pg_replslot) rm -rf "./$each"/* ;;
        pg_commit_ts | pg_dynshmem | pg_logical | pg_multixact | pg_notify | pg_serial | pg_snapshots | pg_subtrans) ;;
        pg_tblspc | pg_twophase | pg_wal | pg_xact) ;;
        *) rm -rf "./$each" ;;
      esac
    done' || fail 'the copy cannot be made fit for others'
}

# Writes the tar stream of all files to standard output.
send_snapshot() {
  if is_started_alone; then
    in_copy sh -c 'cd /copy/data && exec tar -cf - *' 2>"$said/server" && : >"$part/sent"
  else
    send_server && : >"$part/sent"
  fi
}
# Whether the snapshot is of a copy that was started by itself.
is_started_alone() { [ "$PUBLISH" = true ] || [ "$SOURCE" = repository ]; }

# Sets $image to the name of an image with its digest, by which it can be pulled; to its id where it is of no registry. A snapshot for others
# does not say which registry this deployment uses. $own_image is the name here.
name_image() {
  own_image=$1
  image=$(docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}{{.Id}}' "$1" 2>/dev/null | head -n 1)
  [ "$PUBLISH" != true ] || image=${image##*/}
  [ -n "$image" ]
}

# What can be known of the running server before it is copied.
ask_server() {
  end_sessions || fail 'state-db does not answer'
  # The log may be behind a link: it is copied as a folder.
  data=$(sql -c 'show data_directory') || fail 'state-db does not answer'
  link=$(docker exec state-db find -H "$data" -mindepth 1 -type l ! -path "$data/pg_wal" 2>/dev/null | head -n 1)
  [ -z "$link" ] || fail "state-db cannot be copied as a snapshot: $link of its data directory is a link, or a tablespace, and a snapshot holds neither"
  size=$(sql -c 'select sum(pg_database_size(oid)) from pg_database where datallowconn') || fail 'state-db does not answer'
  own=$(docker inspect --format '{{.Image}}' state-db) || fail 'state-db is not there'
  name_image "$own" || fail 'the image of state-db is not there'
}

# What can be known of the repository before it is recovered.
ask_repository() {
  newest=$(whole_bases "$REPOSITORY" | tail -n 1)
  [ -n "$newest" ] || fail "$REPOSITORY has no whole base backup yet"
  # Of what the server sent: the backup may be compressed.
  size=$(grep -o '"Size": [0-9]*' "$REPOSITORY/base/$newest/data/backup_manifest" | awk '{ sum += $2 } END { printf "%.0f", sum }')
  name_image "$IMAGE" || fail "image $IMAGE is not there"
}

# Arguments: a folder, the bytes that it has to have
expect_room() {
  free=$(df -B1 --output=avail "$1" | tail -n 1)
  [ "$free" -gt "$2" ] || fail "$1 has $free bytes free, and the snapshot may need $2"
}

# The log of the time of the copy is kept by a slot of this session: it ends with it, whatever ends this script.
keep_log() {
  mkfifo "$part/keeper"
  docker exec -i --env PGAPPNAME="$name" state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$DATABASE_USER" -d "$source_database" \
    <"$part/keeper" >"$part/kept" 2>"$part/keeper.err" &
  keeper=$!
  exec 3>"$part/keeper"
  echo "select 'kept' from pg_create_physical_replication_slot('rpc_node_snapshot', true, true);" >&3
  until grep -q kept "$part/kept"; do
    kill -0 "$keeper" 2>/dev/null || fail "no slot keeps log for the copy: $(sed -n 's/^.*\(ERROR\|FATAL\|error\): *//p' "$part/keeper.err" | head -n 1)"
    sleep 0.05
  done
}

[ ! -e "$FOLDER/manifest.json" ] || { echo "$FOLDER holds a snapshot already"; exit 0; }
for each in zstd bsdtar; do command -v "$each" >/dev/null || fail "$each is not installed"; done
mkdir -p "$FOLDER" || fail "$FOLDER cannot be made"
# What a run left that was ended in between. Pieces without .part are somebody else's.
if [ ! -d "$part" ]; then
  for each in "$FOLDER"/piece-*; do [ ! -e "$each" ] || fail "$each is there already, and is not of a snapshot that was interrupted"; done
fi
# Messages have to go out also when the disk of the folder is full.
{ said=$(mktemp -d) && echo >"$said/room"; } || fail 'there is no room for temporary files'
trap end EXIT
trap 'exit 1' TERM INT
trap '' PIPE
remove_part
rm -f "$FOLDER"/piece-*
mkdir "$part" || fail "$FOLDER cannot be written"

if [ "$SOURCE" = server ]; then ask_server; else ask_repository; fi
# The copy that is started by itself may be on another file system.
if [ "$SOURCE" = repository ]; then aside=$(dirname "$STAGED"); else aside=$part; fi
needed=$size
if is_started_alone; then
  if [ "$(stat -c %d "$aside")" = "$(stat -c %d "$FOLDER")" ]; then needed=$((2 * size)); else expect_room "$aside" "$size"; fi
fi
expect_room "$FOLDER" "$needed"
[ "$SOURCE" = repository ] || keep_log
if is_started_alone; then
  copy_for_others
  data=/copy/data
  list_large in_copy
else
  # The block is in the copy, and so is what comes until its end.
  known=$(facts sql) || fail 'state-db does not say what it holds'
  list_large docker exec state-db
fi
[ -n "$known" ] || fail 'the state database holds no block'

cut_snapshot 2>"$said/cut" || fail "the pieces cannot be written: $(reason)"
[ -e "$part/sent" ] || fail "state-db does not send a whole copy: $(tail -n 1 "$said/server")"
[ -e "$part/selected" ] || fail "the pieces cannot be written: $(head -n 1 "$said/select")"
grep -q 'Block of NULs' "$part/index" || fail "the list of the files cannot be written into $part"
large_are_whole || fail "the pieces of large files are not whole: $(grep -vE 'Not found in archive$|Exiting with failure' "$said/large" | tail -n 1)"
if ! is_started_alone; then
  still=$(sql --set=known="$known" <<'SQL'
select exists (select from state.l2block
  where block_num = (:'known'::jsonb ->> 'block')::bigint and block_hash = :'known'::jsonb ->> 'hash')
SQL
  ) || fail 'state-db does not answer'
  [ "$still" = t ] || fail 'the newest block was removed while the server was copied, as by a rewind or a reorganisation: take the snapshot again'
fi
exec 3>&-
pieces=$(describe_pieces 2>"$said/cut") || fail "state-db cannot be copied as a snapshot: its data directory holds $(tail -n 1 "$said/cut")"
printf '%s,\n  "pieces": [\n%s\n  ]\n}\n' "${known%\}}" "$pieces" >"$part/manifest.json"
rm -f "$part"/piece-*.sum
sync -f "$part" || fail 'the files could not be written to the disk'
mv "$part"/piece-*.zst "$FOLDER" || fail "$FOLDER cannot be written"
sync -f "$FOLDER"
mv "$part/manifest.json" "$FOLDER/manifest.json" || fail "$FOLDER cannot be written"
sync -f "$FOLDER"
echo "the snapshot is in $FOLDER"
