#!/bin/sh
# Recovers both databases from the repository of backups, on the backup host. The functions of as-user.sh, unpack-recovery.sh,
# cut-base.sh, base-backups.sh and timeline.sh are before this text.
#
#   recovery offer FOLDER TIME   offers what a server needs to be as it was at TIME (2026-11-22T18:00:00Z), or at the end of all that
#                                arrived (latest). All of it is read and verified, and nothing is copied: the files are links. A fourth
#                                word is a folder in place of the repository (fetch-backup.sh)
#   recovery renew FOLDER TIME   offers it again, with what has arrived since. What was verified is not read again
#   recovery copy FOLDER TIME    makes a data directory of it on this host, FOLDER/data. Nothing of an offer stays
#   recovery drill FOLDER TIME   starts such a copy in a container that is thrown away, and compares its blocks with the running database. The
#                                last line is PASS or says why not
#   recovery unpack FOLDER COPY  makes a data directory of an offer, in COPY
#
# An offer has these files:
#   base/           pieces of a tar stream (cut-backup.py)
#   data/           instead of it: the files of a base backup that an older version has made
#   log/            write-ahead log, as it is in the repository
#   lists/items     what has to be fetched: kind, name, SHA-256; lists/plain-* and lists/log-* are lists of files
#   lists/source    the repository, or the folder in place of it
#   lists/backup    the base backup
#   lists/settings  for postgresql.auto.conf
#   room            a file without content, as long as what is unpacked of it
#   rpc-node-recovered   the time; it is as old as the list of the log
#
# Settings, from the file RECOVERY_CONF or /etc/rpc-node/recovery.conf:
#   REPOSITORY   Barman's folder of the server
#   CONNECTION   to the running server, as the role for backups
#   RESULTS      folder for the result of the drill
#   PROGRAMS     PostgreSQL's own programs
#   IMAGE        PostgreSQL's image
#   PULL         never where the inventory has the image's key: docker does not ask for signatures
#   STATE_USER, STATE_DATABASE, PROVER_DATABASE
# shellcheck disable=SC2154 # timeline.sh sets timeline and left
set -u
export LC_ALL=C TZ=UTC
# shellcheck source=/dev/null
. "${RECOVERY_CONF:-/etc/rpc-node/recovery.conf}"
verb=$1 folder=$2 time=$3
REPOSITORY=${4:-$REPOSITORY}

fail() {
  if [ "$verb" = drill ]; then
    mkdir -p "$RESULTS" && printf '%s\n' "$*" >"$RESULTS/drill-failed"
  fi
  printf '%s\n' "$*" >&2
  exit 1
}
as_barman() { as_user barman "$@"; }
# Runs a command outside of the sandbox of a schedule: the engine does not see what is mounted within it.
outside() {
  if [ -d /run/systemd/system ]; then systemd-run --quiet --wait --collect --pipe "$@"; else "$@"; fi
}

# Sets $backup to the newest whole base backup that ended before the time, or to that of the offer $verified.
choose_backup() {
  backup='' best=0
  offered=$(cat "$verified/lists/backup" 2>/dev/null)
  until=9999999999
  if [ "$time" != latest ]; then until=$(date -d "$time" +%s) || fail "$time is not a time"; fi
  for name in $(list_bases "$REPOSITORY"); do
    info=$(info_of "$REPOSITORY" "$name")
    of=$(word_of "$info" timeline)
    # The recovery would silently be one to before it. One that failed at its start has no number.
    if [ "$of" -gt "$timeline" ] 2>/dev/null; then
      fail "the base backup $name is of timeline $of, which a recovery of the server began, and $(printf '%08X' "$of").history has not arrived. As barman: barman receive-wal --reset state-db receives it; after barman delete state-db $name, a recovery starts from before it"
    fi
    grep -qx 'status=DONE' "$info" 2>/dev/null || continue
    end=$(date -d "$(word_of "$info" end_time)" +%s) || continue
    if [ "$end" -le "$until" ] && [ "$end" -ge "$best" ] && is_of_timeline "$info" "$timeline" "$left"; then
      best=$end backup=$name
      [ "$name" != "$offered" ] || break
    fi
  done
  [ -n "$backup" ] || fail "no whole base backup of timeline $timeline, which a recovery follows, ended before $time: see barman list-backups state-db"
}

# Prints the files of the log that a recovery needs, in their order: histories of timelines, and segments from the one with which the backup
# begins, each of its timeline, until it is enough for the time. The names that end in .partial are still being received.
list_log() {
  find "$REPOSITORY/wals" "$REPOSITORY/streaming" -type f -printf '%f %T@ %s %p\n' 2>/dev/null | sort |
    awk -v newest="$timeline" -v left="$left" -v begin="$begin" -v end="$end" -v until="$until" "$segments"'
      BEGIN { from = at(begin) }
      { name = $1; sub(/\.partial$/, "", name) }
      # As text: awk takes names of digits alone for numbers, and rounds them.
      name "" == before "" { next }
      name ~ /^[0-9A-F]+\.history$/ { print; before = name; next }
      over || name !~ /^[0-9A-F]+$/ || length(name) != 24 || at(name) < from || name "" != needed(at(name)) "" { next }
      { print; before = name; if (is_enough($2, $3) && at(name) > at(end)) over = 1 }'
}

# Prints the error in what pg_verifybackup has said. One that was killed, or did not start, has found none.
error_in() { printf '%s\n' "$1" | grep -m 1 -i error || echo "pg_verifybackup came to no result: $(printf '%s\n' "$1" | tail -n 1)"; }

# Verifies the base backup of the offer $offer. Each piece is read from the disk, unless the offer $verified has the same one.
verify_base() {
  if [ -e "$offer/data" ]; then
    said=$(as_barman "$PROGRAMS/pg_verifybackup" --no-parse-wal --quiet "$offer/data" 2>&1) || corrupt=$(error_in "$said")
  else
    # shellcheck disable=SC2016 # it is for the shell of each piece
    corrupt=$(cd "$offer/base" && sed -n 's/^piece \(.*\) \(.*\)/\2  \1/p' ../lists/items |
      xargs -d '\n' -n 1 -P "$(nproc)" sh -c '
        [ "${2#*  }" -ef "$1/${2#*  }" ] || echo "$2" | sha256sum --check --status || echo "$2"' sh "$verified/base" 2>&1 | sed -n '1s/.* //p')
  fi
  [ -z "${corrupt:-}" ] || fail "the base backup $backup is corrupt: $corrupt"
}

# Verifies that the log of the offer $offer has no gap, reaches the end of the backup and the newest timeline or the time, and can be read.
verify_log() {
  gap=$(find "$offer/log" -type f ! -name '*.history' -printf '%f %T@\n' |
    awk -v newest="$timeline" -v left="$left" -v begin="$begin" -v end="$end" -v until="$until" "$segments"'
      { there[$1 ""]; if (at($1) >= last) { last = at($1); came = $2 } }
      END {
        if (last < at(end)) last = at(end)
        if (came <= until && last < next_from[lines]) last = next_from[lines]
        for (n = at(begin); n <= last; n++) if (!((needed(n) "") in there)) { print needed(n); exit }
      }')
  [ -z "$gap" ] || fail "the write-ahead log has a gap: segment $gap is not there, and the recovery from $backup needs it"
  # A segment whose checksum is wrong may have its length: then the word of the failure makes it longer.
  # shellcheck disable=SC2016 # it is for the shell of each segment
  said=$(find "$offer/log" -type f ! -name '*.history' -print0 | xargs -0 -n 1 -P "$(nproc)" sh -c '
    [ "$2" -ef "$1/${2##*/}" ] || [ "$({ gzip -dcf "$2" 2>/dev/null || echo failed; } | wc -c)" = 16777216 ] || basename "$2"' sh "$verified/log")
  [ -z "$said" ] || fail "the write-ahead log cannot be read: $(printf '%s\n' "$said" | sort | head -n 1)"
}

# Writes a small file of the offer $offer. The disk may be full by now. Arguments: its name in lists/, its text
note() { printf '%s\n' "$2" | as_barman tee "$offer/lists/$1" >/dev/null || fail "$offer/lists/$1 cannot be written"; }

# Settings of the server that is recovered: where its replay of the log ends.
recovery_settings() {
  # All of the log is in its place already.
  printf "restore_command = 'false'\nrecovery_target_timeline = '%s'\n" "$timeline"
  [ "$time" = latest ] || printf "recovery_target_time = '%s'\nrecovery_target_action = 'promote'\n" "$(date -d "$time" '+%Y-%m-%d %H:%M:%S+00:00')"
}

# Links the files of an offer, and lists them. Arguments: folder of the offer, of the backup. Standard input: lines of list_log
# shellcheck disable=SC2016 # it is for the shell of barman
link_offer='
  set -eu
  offer=$1 data=$2
  mkdir -m 0700 "$offer" "$offer/log" "$offer/lists"
  while read -r name time bytes path; do ln "$path" "$offer/log/${name%.partial}"; done
  cd "$offer/lists"
  if [ -d "$data/pieces" ]; then
    mkdir -m 0700 ../base
    ln "$data"/pieces/piece-* ../base
    sed -n "s/^\([0-9a-f]*\) [ *]\(.*\)/piece \2 \1/p" "$data/pieces/SHA256SUMS" >items
  else
    cp -al "$data" ../data
    # Four lists of about the same size, and the folders with each.
    (cd .. && find data ! -path "data/log/*" ! -path "data/pg_wal/?*" ! -name tablespace_map -printf "%y %s %p\n") | sort -k1,1 -k2,2rn |
      awk "{ n = 0; for (i = 1; i < 4; i++) if (size[i] < size[n]) n = i; size[n] += \$2; path = \$0; sub(/^. [0-9]+ /, \"\", path)
        if (\$1 == \"d\") for (i = 0; i < 4; i++) print path > (\"plain-\" i); else print path > (\"plain-\" n) }"
    for each in plain-*; do echo "plain $each -"; done >items
  fi
  (cd .. && ls -d log/*) | split -l 32 - log-
  for each in log-*; do echo "log $each $(sha256sum <"$each" | cut -d" " -f1)"; done >>items'

# Offers the recovery. Arguments: the folder of the offer, an offer whose files are verified already or nothing
offer() {
  offer=$1 verified=${2:-/nonexistent}
  # What came since the last run of cron. It may be running just now.
  as_barman barman -q archive-wal state-db >/dev/null 2>&1
  choose_timeline "$REPOSITORY"
  choose_backup
  data=$REPOSITORY/base/$backup/data info=$(info_of "$REPOSITORY" "$backup")
  version=$(($(word_of "$info" version) / 10000))
  ours=$(basename "$(dirname "$PROGRAMS")")
  [ "$version" = "$ours" ] || fail "the base backup $backup is of PostgreSQL $version, and only that version reads it: the deployment has $ours"
  begin=$(word_of "$info" begin_wal)
  end=$(word_of "$info" end_wal)
  # One that its timer has not come to, or has found corrupt, has no sums that it could be verified by.
  said=$(cut_base "$data" 2>&1) || fail "the base backup $backup is corrupt, or cannot be cut: $(why_uncut "$said")"
  # The cut may have taken hours.
  followed=$timeline
  choose_timeline "$REPOSITORY"
  [ "$timeline" = "$followed" ] || fail "the server was recovered meanwhile, and timeline $timeline has arrived: run it again"
  # What comes from now on may not be in it.
  listed=$(date +%s.%N)
  # Barman may rename a file of the log just now.
  linked=''
  for _ in 1 2 3; do
    rm -rf "$offer"
    # The folder around it is barman's, and root would follow a link there.
    said=$(list_log | as_barman sh -c "$link_offer" sh "$offer" "$data" 2>&1) && linked=yes && break
  done
  [ "$linked" = yes ] || fail "the recovery cannot be offered in $offer: $(printf '%s\n' "$said" | tail -n 1)"
  need_later_log "$(find "$offer/log" -type f ! -name '*.history' -printf '%T@\n' | awk '$1 > newest { newest = $1 } END { printf "%.0f", newest }')" here
  verify_base
  verify_log
  note backup "$backup"
  note settings "$(recovery_settings)"
  segments=$(find "$offer/log" -type f ! -name '*.history' | wc -l)
  # What is unpacked, and for a moment the largest pieces themselves.
  if [ -e "$data/backup_manifest" ]; then
    unpacked=$(grep -o '"Size": [0-9]*' "$data/backup_manifest" | awk '{ sum += $2 } END { printf "%.0f", sum }')
  else unpacked=$(du -sx -B1 "$data" | cut -f1); fi
  largest=$(find "$offer" -name '*.tar.zst' -printf '%s\n' | sort -rn | awk 'NR <= 4 { sum += $1 } END { printf "%.0f", sum }')
  needed=$((unpacked + largest + segments * 16777216))
  as_barman truncate -s "$needed" "$offer/room" || fail "$offer/room cannot be made"
}

# A copy that the disk cannot hold does not start. The log that a recovery to the time needs is counted unpacked.
need_room() {
  there=$( (du -sx -B1 "$folder" 2>/dev/null || echo 0) | cut -f1)
  free=$(df -P -B1 "$(dirname "$folder")" | awk 'END { print $4 }')
  [ "$needed" -le "$((free + there))" ] ||
    fail "there is no room for the recovery in $(dirname "$folder"): it takes $((needed / 1000000)) MB, and $(((free + there) / 1000000)) MB are free"
}

# Prints the number of blocks up to a height and a hash of their hashes. Arguments: height, then the psql.
hash_of_blocks() {
  height=$1
  shift
  "$@" -XAtq -v ON_ERROR_STOP=1 -c "select sum(n) || ' ' || md5(string_agg(h, '' order by part)) from (
    select block_num / 100000 as part, count(*) as n, md5(string_agg(block_hash, '' order by block_num)) as h
    from state.l2block where block_num <= $height group by 1) parts"
}

# Makes the data directory $folder/data of the backup, all of whose files are those that the server has sent.
copy() {
  offer "$folder.offer"
  rm -rf "$folder"
  need_room
  said=$(as_barman "$0" unpack "$folder.offer" "$folder" 2>&1) || fail "the recovery cannot be unpacked: $(printf '%s\n' "$said" | tail -n 1)"
  [ -e "$data/backup_manifest" ] || return 0
  # The log is in its place already, and settings have been added.
  said=$(as_barman "$PROGRAMS/pg_verifybackup" --no-parse-wal --quiet --ignore=recovery.signal --ignore=log \
    --manifest-path="$data/backup_manifest" "$folder/data" 2>&1) || fail "the base backup $backup is corrupt: $(error_in "$said")"
}

drill() {
  # One by hand and one by the timer have the same folder and container. The lock ends with this process.
  exec 9>/run/rpc-node-drill.lock
  flock -n 9 || { echo 'another drill runs' >&2; exit 1; }
  place=/run/rpc-node-drill
  clean_up() {
    docker rm --force rpc-node-drill >/dev/null 2>&1
    # shellcheck disable=SC2016 # it is for the shell outside
    outside sh -c '! mountpoint -q "$1" || umount "$1"' sh "$place"
  }
  clean_up
  trap 'clean_up; rm -rf "$folder" "$folder.offer"' EXIT
  trap 'fail "the drill was ended before its result"' TERM INT
  # The check of the repository counts the days since it.
  [ ! -e "$RESULTS/drill-passed" ] || mv "$RESULTS/drill-passed" "$RESULTS/drill-passed.before"
  copy
  # The folder around it is barman's, who could put a link there before the engine looks: what is here now gets a place of root's.
  # shellcheck disable=SC2016 # it is for the shell outside
  outside sh -c 'mkdir -p "$1" && cd -P "$2/data" && [ "$(stat -c %U .)" = barman ] && mount --bind . "$1"' sh "$place" "$folder" ||
    fail "$folder is not barman's any more"
  # Without connections until it has recovered: a standby would need as many as the real server.
  said=$(docker run --detach --name rpc-node-drill --pull "${PULL:-missing}" --network none --volume "$place:/var/lib/postgresql/data" "$IMAGE" \
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
  offer | renew)
    # The mark is in a folder before it gets this name, also in the data directory that the version before made here.
    if [ -e "$folder" ] && [ ! -e "$folder/rpc-node-recovered" ]; then fail "$folder is of no recovery, and is not replaced: move it away"; fi
    # Killed between its two names.
    if [ ! -e "$folder" ] && [ -e "$folder.before" ]; then as_barman mv -T "$folder.before" "$folder"; fi
    rm -rf "$folder.before"
    # Its links would keep what Barman removes, and nobody sees them.
    trap 'rm -rf "$folder.part"' EXIT
    trap 'exit 1' TERM INT
    # A folder that is whole is renamed last.
    if [ "$verb" = renew ]; then offer "$folder.part" "$folder"; else offer "$folder.part"; fi
    note source "$REPOSITORY"
    note ../rpc-node-recovered "$time"
    as_barman touch -d "@$listed" "$folder.part/rpc-node-recovered" || fail "$folder.part cannot be marked"
    if [ -e "$folder" ]; then as_barman mv -T "$folder" "$folder.before" || fail "$folder cannot be replaced"; fi
    as_barman mv -T "$folder.part" "$folder" || fail "$folder cannot be made"
    rm -rf "$folder.before" ;;
  copy)
    trap 'rm -rf "$folder.offer"' EXIT
    trap 'exit 1' TERM INT
    copy ;;
  drill) drill ;;
  unpack)
    # shellcheck disable=SC2034 # the functions of unpack-recovery.sh use them
    SOURCE=$folder PASSWORD_FILE=''
    mkdir -p "$time" && unpack_offer "$time" ;;
esac
