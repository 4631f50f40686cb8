#!/bin/sh
# Recovers both databases from the repository of backups, on the backup host.
#
#   recovery stage FOLDER TIME   makes a data directory that a server brings to TIME (2026-11-22T18:00:00Z), or to the end of all that
#                                arrived (latest)
#   recovery drill FOLDER TIME   the same, starts it in a container that is thrown away, and compares its blocks with the running database.
#                                The last line is PASS or says why not
#
# Settings, from the file RECOVERY_CONF or /etc/rpc-node/recovery.conf:
#   REPOSITORY   Barman's folder of the server
#   CONNECTION   to the running server, as the role for backups
#   RESULTS      folder for the result of the drill
#   IMAGE        PostgreSQL's image
#   STATE_USER, STATE_DATABASE, PROVER_DATABASE
set -u
export LC_ALL=C TZ=UTC
# shellcheck source=/dev/null
. "${RECOVERY_CONF:-/etc/rpc-node/recovery.conf}"
verb=$1 folder=$2 time=$3

fail() {
  if [ "$verb" = drill ]; then
    mkdir -p "$RESULTS" && printf '%s\n' "$*" >"$RESULTS/drill-failed"
  fi
  printf '%s\n' "$*" >&2
  exit 1
}
as_barman() { runuser -u barman -- "$@"; }

# Sets $backup to the newest whole base backup that ended before the time.
choose_backup() {
  backup='' best=0
  until=$(date +%s)
  if [ "$time" != latest ]; then until=$(date -d "$time" +%s) || fail "$time is not a time"; fi
  for info in "$REPOSITORY"/base/*/backup.info; do
    grep -qx 'status=DONE' "$info" 2>/dev/null || continue
    end=$(date -d "$(sed -n 's/^end_time=//p' "$info")" +%s) || continue
    if [ "$end" -le "$until" ] && [ "$end" -ge "$best" ]; then
      best=$end
      backup=$(basename "$(dirname "$info")")
    fi
  done
  [ -n "$backup" ] || fail "no whole base backup ended before $time: see barman list-backups state-db"
}

# A copy that the disk cannot hold does not start. The log that a recovery to the time needs is counted unpacked.
need_room() {
  begin=$(sed -n 's/^begin_wal=//p' "$REPOSITORY/base/$backup/backup.info")
  segments=$(find "$REPOSITORY/wals" "$REPOSITORY/streaming" -type f ! -newermt "@$((until + 3600))" -printf '%f\n' 2>/dev/null |
    sed 's/\.partial$//' | grep -xE '[0-9A-F]{24}' | awk -v begin="$begin" 'substr($0, 9) >= substr(begin, 9)' | sort -u | wc -l)
  needed=$(($(du -sx -B1 "$REPOSITORY/base/$backup/data" | cut -f1) + segments * 16777216))
  there=$( (du -sx -B1 "$folder" 2>/dev/null || echo 0) | cut -f1)
  free=$(df -P -B1 "$(dirname "$folder")" | awk 'END { print $4 }')
  [ "$needed" -le "$((free + there))" ] ||
    fail "there is no room for the recovery in $(dirname "$folder"): it takes $((needed / 1000000)) MB, and $(((free + there) / 1000000)) MB are free"
}

stage() {
  choose_backup
  need_room
  said=$(as_barman barman verify-backup state-db "$backup" 2>&1) ||
    fail "the base backup $backup is corrupt: $(printf '%s\n' "$said" | grep -m 1 -i error)"
  # What came since the last run of cron. It may be running just now.
  as_barman barman -q archive-wal state-db >/dev/null 2>&1
  # The folder around it is barman's, and root would follow a link there.
  rm -rf "$folder"
  as_barman mkdir -m 0700 "$folder" || fail "$folder cannot be made"
  # Each recovery of the server begins a timeline. Barman by itself stays on that of the base backup.
  timeline=1
  for history in "$REPOSITORY"/wals/????????.history; do
    number=$(printf '%d' "0x$(basename "$history" .history)" 2>/dev/null) || continue
    [ "$number" -le "$timeline" ] || timeline=$number
  done
  set -- --target-tli "$timeline"
  if [ "$time" != latest ]; then
    set -- "$@" --target-time "$(date -d "$time" '+%Y-%m-%d %H:%M:%S+00:00')" --target-action promote
  fi
  said=$(as_barman barman recover "$@" state-db "$backup" "$folder" 2>&1) ||
    fail "barman recover of $backup: $(printf '%s\n' "$said" | grep -m 1 -i error)"
  # Where Barman has put the log: with a target, its own folder, from which the server fetches it.
  log=pg_wal
  [ ! -d "$folder/barman_wal" ] || log=barman_wal
  # Barman leaves out what it is still receiving: the newest changes.
  as_barman mkdir -p "$folder/$log"
  for each in "$REPOSITORY"/streaming/*; do
    name=$(basename "$each" .partial)
    if [ ${#name} != 24 ] || [ -e "$folder/$log/$name" ]; then continue; fi
    as_barman cp "$each" "$folder/$log/$name" || fail "$each cannot be copied"
  done
  if [ "$log" = pg_wal ]; then
    # To the end of the log in pg_wal, and then on a timeline of its own.
    as_barman touch "$folder/recovery.signal"
    printf '%s\n' "restore_command = 'false'" | as_barman tee -a "$folder/postgresql.auto.conf" >/dev/null
  fi
}

# Prints the number of blocks up to a height and a hash of their hashes. Arguments: height, then the psql.
hash_of_blocks() {
  height=$1
  shift
  "$@" -XAtq -v ON_ERROR_STOP=1 -c "select sum(n) || ' ' || md5(string_agg(h, '' order by part)) from (
    select block_num / 100000 as part, count(*) as n, md5(string_agg(block_hash, '' order by block_num)) as h
    from state.l2block where block_num <= $height group by 1) parts"
}

drill() {
  # One by hand and one by the timer have the same folder and container. The lock ends with this process.
  exec 9>/run/rpc-node-drill.lock
  flock -n 9 || { echo 'another drill runs' >&2; exit 1; }
  place=/run/rpc-node-drill
  clean_up() {
    docker rm --force rpc-node-drill >/dev/null 2>&1
    ! mountpoint -q "$place" || umount "$place"
  }
  clean_up
  trap 'clean_up; rm -rf "$folder"' EXIT
  trap 'fail "the drill was ended before its result"' TERM INT
  # The check of the repository counts the days since it.
  [ ! -e "$RESULTS/drill-passed" ] || mv "$RESULTS/drill-passed" "$RESULTS/drill-passed.before"
  stage
  # The folder around it is barman's, who could put a link there before the engine looks: what is here now gets a place of root's.
  if ! (mkdir -p "$place" && cd -P "$folder" && [ "$(stat -c %U .)" = barman ] && mount --bind . "$place"); then
    fail "$folder is not barman's any more"
  fi
  # Without connections until it has recovered: a standby would need as many as the real server.
  said=$(docker run --detach --name rpc-node-drill --network none --volume "$place:/var/lib/postgresql/data" "$IMAGE" \
    -c hot_standby=off 2>&1) || fail "the container does not start: $said"
  until docker exec rpc-node-drill psql -XAtq -U "$STATE_USER" -d "$STATE_DATABASE" -c 'select 1' >/dev/null 2>&1; do
    [ "$(docker inspect --format '{{.State.Running}}' rpc-node-drill 2>/dev/null)" = true ] ||
      fail "the recovery ended: $(docker logs rpc-node-drill 2>&1 | sed -n 's/^.*\(FATAL\|PANIC\): *//p' | tail -n 1)"
    sleep 1
  done
  in_drill() { docker exec -i rpc-node-drill psql -U "$STATE_USER" -d "$@"; }
  newest=$(in_drill "$STATE_DATABASE" -XAtqc 'select max(block_num) from state.l2block')
  case $newest in '' | *[!0-9]*) fail 'the recovered state database holds no block' ;; esac
  nodes=$(in_drill "$PROVER_DATABASE" -XAtqc 'select exists (select from state.nodes)')
  [ "$nodes" = t ] || fail 'the recovered prover database is empty'
  recovered=$(hash_of_blocks "$newest" in_drill "$STATE_DATABASE") || fail 'the recovered blocks cannot be read'
  running=$(hash_of_blocks "$newest" as_barman psql "$CONNECTION" 2>&1) ||
    fail "nothing to compare with, the state database does not answer: $(printf '%s' "$running" | tail -n 1)"
  [ "$recovered" = "$running" ] ||
    fail "the recovered blocks up to $newest are not those of the running database: ${recovered% *} of ${running% *} are there, or hashes differ"
  mkdir -p "$RESULTS"
  passed="PASS: ${recovered% *} blocks up to $newest match the running database, from base backup $backup"
  printf '%s\n' "$passed" >"$RESULTS/drill-passed"
  rm -f "$RESULTS/drill-failed"
  echo "$passed"
}

case $verb in
  stage)
    # A folder that is whole is renamed last.
    final=$folder
    folder=$final.part
    stage
    printf '%s\n' "$time" | as_barman tee "$folder/rpc-node-recovered" >/dev/null
    rm -rf "$final"
    as_barman mv -T "$folder" "$final" || fail "$final cannot be made" ;;
  drill) drill ;;
esac
