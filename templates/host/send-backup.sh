#!/bin/sh
# Sends to an S3-compatible storage what the repository of backups has and the storage lacks, as user barman: write-ahead log, and base
# backups in pieces. A base backup counts when its backup.info is there, which goes last. It may be killed at any moment: the next run lists
# what the storage has, and sends the rest. The functions of fetch.sh, send.sh, storage-folder.sh and base-backups.sh are before
# this text.
#
# In the storage, in SYSTEM/REPOSITORY: the system identifier of PostgreSQL, and what this program has named the repository. Two servers may have
# the same system identifier and names of segments, as where a database starts from the same files again:
#   base/BACKUP/piece-000001.tar.zst   and backup_manifest, SHA256SUMS of the pieces, backup.info, as in the repository
#   log/SEGMENT.SECONDS                write-ahead log as in the repository, and when it arrived there, seconds since 1970
# With RECIPIENTS each is encrypted by age, and its name ends in .age.
#
# It removes there what Barman has removed here, of what this host has sent: NOTES/sent has those names. A host that lost its notes, or a new one,
# removes nothing. What recovers to any time of KEEP_DAYS stays, also where the repository has lost it.
#
# Standard input: settings of curl that sign requests.
# Settings, from the file COPY_CONF or /etc/rpc-node/backup-copy.conf:
#   REPOSITORY        Barman's folder of the server
#   NOTES             folder for the notes of this program
#   BUCKET, PREFIX    URL of the bucket, and the folder in it with / at its end
#   URL, SHOWN        URL of that folder with / at its end, and its name in messages
#   KEEP_DAYS         days, each moment of which can be recovered
#   RECIPIENTS        file with recipients of age; empty: nothing is encrypted
set -u
umask 077
export LC_ALL=C TZ=UTC
# shellcheck disable=SC2034 # of fetch.sh
STORAGE=backup.s3
# shellcheck source=/dev/null
. "${COPY_CONF:-/etc/rpc-node/backup-copy.conf}"
encrypted=${RECIPIENTS:+.age}
say() { printf '%s\n' "$*" >&2; }

# Sends a file unless the storage has it. Arguments: path, name in the storage, SHA-256 that it has to have or nothing
send() {
  if grep -qxF "$2$encrypted" "$work/there"; then return 0; fi
  # Barman may have removed it, which the caller finds out.
  cat "$1" >"$work/plain" || { [ ! -e "$1" ] || say "there is no room in $NOTES for a copy of $1, or it cannot be read"; return 1; }
  if [ -n "${3:-}" ] && [ "$(sha256sum <"$work/plain" | cut -d' ' -f1)" != "$3" ]; then
    say "$1 is corrupt, and is not sent"
    return 1
  fi
  if [ -n "$RECIPIENTS" ]; then
    age --recipients-file "$RECIPIENTS" --output "$work/body" "$work/plain" || { say "$1 cannot be encrypted"; return 1; }
  else
    mv "$work/plain" "$work/body"
  fi
  # Noted before it is there: what is there without a note would stay for ever.
  echo "$place/$2$encrypted" >>"$NOTES/sent" || return 1
  sum=$(sha256sum <"$work/body" | cut -d' ' -f1)
  request "$SHOWN$place/$2$encrypted" "$URL$place/$2$encrypted" PUT "$work/body" "$sum" --header "x-amz-meta-sha256: $sum" || return 1
  echo "$2$encrypted" >>"$work/there"
}

# Prints files of the log in the repository, in their order: name, arrival, path. Those that are still received are not there.
list_log() {
  find "$REPOSITORY/wals" -type f -printf '%f %T@ %p\n' 2>/dev/null | sort |
    awk '{ sub(/\..*/, "", $2) } $1 ~ /^[0-9A-F]+(\.history)?$/ && (length($1) == 24 || $1 ~ /^[0-9A-F]+\.history$/) { print }'
}

# Makes of what the server has written until now a segment that is whole, each four minutes. Sets $written to the time until which all that it
# has written is in the repository. Without the server, or where the segment is not there in time, that is what it was before.
asked=0 written=''
switch_log() {
  [ $(($(date +%s) - asked)) -ge 240 ] || return 0
  asked=$(date +%s)
  # At the beginning of a segment it names the one before.
  newest=$(barman show-server state-db 2>/dev/null | sed -n 's/^[[:space:]]*current_xlog: \([0-9A-F]\{24\}\)$/\1/p')
  # It succeeds as well where there is nothing to switch, and the segment before has not arrived.
  barman -q switch-wal --archive --archive-timeout 20 state-db >/dev/null 2>&1
  barman -q archive-wal state-db >/dev/null 2>&1
  if [ -n "$newest" ] && list_log | grep -q "^$newest "; then written=$asked; fi
}

# Sends the log that the storage lacks. One that cannot be read is named, and the others are sent.
send_log() {
  switch_log
  sed -n "s/^log\/\(.*\)\.[0-9]*${encrypted}\$/\1/p" "$work/there" >"$work/log-there"
  list_log | awk 'FILENAME != "-" { there[$1] = 1; next } !($1 in there)' "$work/log-there" - >"$work/log"
  all=yes
  while read -r name arrived path; do
    case $name in
      *.history) ;;
      *)
        if [ "$({ gzip -dcf "$path" 2>/dev/null || echo failed; } | wc -c)" != 16777216 ]; then
          # Barman may have removed it meanwhile.
          [ ! -e "$path" ] || { say "the write-ahead log $name cannot be read, and is not sent"; all=no; }
          continue
        fi ;;
    esac
    send "$path" "log/$name.$arrived" </dev/null || { [ ! -e "$path" ] && continue; return 1; }
  done <"$work/log"
  [ "$all" = yes ] || return 1
  [ -z "$written" ] || { echo "$written" >"$NOTES/log-at.new" && mv "$NOTES/log-at.new" "$NOTES/log-at"; }
}

# Sends a base backup. Argument: its name
send_base() {
  from=$REPOSITORY/base/$1/data
  while read -r sum piece; do
    piece=${piece#\*}
    if grep -qxF "base/$1/$piece$encrypted" "$work/there"; then continue; fi
    send "$from/pieces/$piece" "base/$1/$piece" "$sum" </dev/null || return 1
    # A base backup takes hours, and the log goes on.
    send_log || wrong=1
  done <"$from/pieces/SHA256SUMS"
  send "$from/pieces/SHA256SUMS" "base/$1/SHA256SUMS" && send "$from/backup_manifest" "base/$1/backup_manifest" &&
    send "$(info_of "$REPOSITORY" "$1")" "base/$1/backup.info"
}

# Says why a base backup is not sent whose files are not there: nothing where Barman removes it, backup.info last. Argument: its name
# Result: 0 where it is removed
is_removed() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e "$(info_of "$REPOSITORY" "$1")" ] || return 0
    missing=$(sed 's/^[^ ]* [ *]//' "$REPOSITORY/base/$1/data/pieces/SHA256SUMS" 2>/dev/null |
      while read -r piece; do [ -e "$REPOSITORY/base/$1/data/pieces/$piece" ] || { echo "$piece"; break; }; done)
    # All are there: another reason has been said.
    if [ -z "$missing" ] && [ -e "$REPOSITORY/base/$1/data/pieces/SHA256SUMS" ]; then return 1; fi
    sleep 1
  done
  say "the base backup $1 is not whole, and is not sent: ${missing:-SHA256SUMS} is missing"
  return 1
}

# Prints the names of whole base backups in pieces, the newest first.
bases_in_pieces() {
  for each in $(whole_bases "$REPOSITORY"); do
    data=$REPOSITORY/base/$each/data
    if [ -e "$data/pieces/SHA256SUMS" ] && [ ! -e "$data/base.tar.zst" ]; then echo "$each"; fi
  done | sort -r
}

# Removes from the storage what Barman has removed: base backups older than its oldest, and log from before it. Nothing goes while the newest
# base backup is not there. A repository that has lost its base backups has not removed them: one that is needed for a time within KEEP_DAYS
# stays, and all log with it. Argument: names of whole base backups
forget() {
  newest=$(printf '%s\n' "$1" | head -n 1)
  oldest=$(printf '%s\n' "$1" | tail -n 1)
  if [ -z "$newest" ] || ! grep -qxF "base/$newest/backup.info$encrypted" "$work/there"; then return 0; fi
  # Also of one that failed, or is not in pieces: it may need its log.
  begin=$(for each in $(list_bases "$REPOSITORY"); do
    sed -n 's/^begin_wal=\([0-9A-F]\{24\}\)$/\1/p' "$(info_of "$REPOSITORY" "$each")"
  done | sort -k1.9 | head -n 1)
  [ -n "$begin" ] || return 0
  awk -v folder="$place/" 'index($0, folder) == 1 { print substr($0, length(folder) + 1) }' "$NOTES/sent" | sort -u >"$work/own"
  sort -u "$work/there" | comm -12 "$work/own" - >"$work/ours"
  # Barman names them by their beginning.
  needed=$(sed -n "s/^base\/\(.*\)\/backup\.info$encrypted\$/\1/p" "$work/ours" |
    awk -v first="$(date -d "$KEEP_DAYS days ago" +%Y%m%dT%H%M%S)" '$0 "" <= first "" && $0 "" > last "" { last = $0 } END { print last }')
  awk -v oldest="$oldest" -v needed="$needed" -v begin="$begin" '
    { split($0, part, "/") }
    part[1] == "base" && part[2] < oldest { if (part[2] < needed) print; else lost = 1 }
    part[1] == "log" && part[2] ~ /^[0-9A-F]+\.[0-9]+/ && substr(part[2], 9, 16) < substr(begin, 9) { log_of[++count] = $0 }
    END { if (!lost) for (n = 1; n <= count; n++) print log_of[n] }' "$work/ours" >"$work/old"
  # What makes it count goes first.
  { grep 'backup\.info' "$work/old"; grep -v 'backup\.info' "$work/old"; } >"$work/old.ordered"
  while read -r name; do
    case $name in base/*) [ ! -e "$REPOSITORY/base/$(basename "$(dirname "$name")")" ] || continue ;; esac
    request "$SHOWN$place/$name" "$URL$place/$name" DELETE '' '' </dev/null || return 1
    # No line is left of the last name. On a full disk the new list would be cut, and what it lacks would stay in the storage for ever.
    grep -vxF "$place/$name" "$NOTES/sent" >"$NOTES/sent.new" || [ $? = 1 ] || { say "there is no room in $NOTES"; return 1; }
    mv "$NOTES/sent.new" "$NOTES/sent" || return 1
  done <"$work/old.ordered"
}

# Gives the repository a name that no other one has. It is in the repository, so that an empty one gets another.
name_repository() {
  [ ! -s "$REPOSITORY/copy-name" ] || return 0
  od -An -N8 -tx1 /dev/urandom | tr -d ' ' >"$REPOSITORY/copy-name.new" && [ -s "$REPOSITORY/copy-name.new" ] &&
    mv "$REPOSITORY/copy-name.new" "$REPOSITORY/copy-name"
}

copy() {
  can_sign >&2 || return 1
  system=$(sed -n 's/.*"systemid": "\([0-9]*\)".*/\1/p' "$REPOSITORY/identity.json" 2>/dev/null)
  [ -n "$system" ] || { say "$REPOSITORY is no repository of Barman's: there is no identity.json"; return 1; }
  name_repository || { say "there is no room in $REPOSITORY"; return 1; }
  place=$system/$(cat "$REPOSITORY/copy-name")
  list_folder "$SHOWN" "$BUCKET" "$PREFIX$place/" >"$work/listed" || return 1
  sed 's/ [0-9]*$//' "$work/listed" >"$work/there" || { say "there is no room in $NOTES"; return 1; }
  wrong=0
  send_log || wrong=1
  bases=$(bases_in_pieces)
  for each in $bases; do
    if ! grep -qxF "base/$each/backup.info$encrypted" "$work/there"; then
      send_base "$each" || { is_removed "$each" || wrong=1; continue; }
    fi
    # Of the newest alone, which is the first.
    [ "$each" != "${bases%%[!0-9T]*}" ] || date -d "$(sed -n 's/^end_time=//p' "$(info_of "$REPOSITORY" "$each")")" +%s >"$NOTES/base-at"
  done
  [ "$wrong" = 0 ] && forget "$bases"
}

mkdir -p "$NOTES" && exec 9>"$NOTES/lock" || exit 1
# One that runs does all of it.
flock -n 9 || exit 0
work=$NOTES/work
rm -rf "$work"
mkdir "$work" || exit 1
# shellcheck disable=SC2034 # of send.sh
ANSWERS=$work
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(cat)
# On a full disk the last line may have no end.
touch "$NOTES/sent" && { [ -z "$(tail -c 1 "$NOTES/sent")" ] || echo >>"$NOTES/sent"; }
# Not by a file: the disk may be full.
said=$(copy 2>&1 >/dev/null)
ended=$?
[ -z "$said" ] || say "$said"
# It makes room for the reason.
rm -rf "$work"
if [ "$ended" = 0 ]; then rm -f "$NOTES/failed"; else printf '%s\n' "$said" >"$NOTES/failed"; fi
exit "$ended"
