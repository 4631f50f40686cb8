#!/bin/sh
# Makes of a copy in an S3-compatible storage (send-backup.sh) a folder from which recovery.sh recovers, as user barman: the newest base backup
# that ended before a time, and its write-ahead log. It may be killed at any moment: the next run fetches what is missing, and all of it where
# the machine has restarted. Whoever can write to the storage can name files there as they like: names and words of them are used only where they
# are such as send-backup.sh gives. The functions of fetch.sh, storage-folder.sh and timeline.sh are before this text.
#
# Standard input: settings of curl that sign requests, and identities of age, a line each. They are in no file of this host.
# Arguments: the folder, the time (2026-11-22T18:00:00Z, or latest)
# Settings, from the file COPY_CONF or /etc/rpc-node/backup-copy.conf: as send-backup.sh has them
# shellcheck disable=SC2154 # timeline.sh sets segments
set -u
umask 077
export LC_ALL=C TZ=UTC
# shellcheck disable=SC2034 # of fetch.sh
STORAGE=backup.s3
# How many files are fetched at the same time.
: "${WORKERS:=4}"
# shellcheck source=/dev/null
. "${COPY_CONF:-/etc/rpc-node/backup-copy.conf}"
folder=$1 time=$2
fail() { printf '%s\n' "$*" >&2; exit 1; }

# Fetches a file, decrypts it, and gives it its name last. Arguments: name in the storage without .age, target, SHA-256 or nothing, number of
# the worker
get() {
  if [ -e "$2" ]; then return 0; fi
  g_file=$(awk -v name="$1" '$1 == name || $1 == name ".age" { print; exit }' "$work/there")
  [ -n "$g_file" ] || { echo "$SHOWN$1 is not there" >&2; return 1; }
  g_bytes=${g_file##* } g_name=${g_file% *} g_part=$work/part-$4
  # Of another file, or whole and wrong.
  rm -f "$g_part" "$g_part.plain"
  fetch_file "$SHOWN$g_name" "$URL$g_name" "$g_bytes" "$g_part" "$work/said-$4" || return 1
  g_sum=$(header x-amz-meta-sha256 <"$work/said-$4/headers")
  if [ -n "$g_sum" ] && [ "$g_sum" != "$(sha256sum <"$g_part" | cut -d' ' -f1)" ]; then
    echo "$SHOWN$g_name is damaged in the storage" >&2
    return 1
  fi
  case $g_name in
    *.age)
      [ -n "$IDENTITY" ] || { echo "$SHOWN$g_name is encrypted: name the private key, by backup.identity or --copy-identity FILE" >&2; return 1; }
      printf '%s\n' "$IDENTITY" | age --decrypt --identity - --output "$g_part.plain" "$g_part" 2>"$work/age-$4" || {
        case $(cat "$work/age-$4") in
          *'no identity matched'*) echo "$SHOWN$g_name is encrypted for another key: name its private key, by backup.identity or --copy-identity FILE" >&2 ;;
          *) echo "$SHOWN$g_name cannot be decrypted: $(sed -n 's/^age: error: //p' "$work/age-$4" | head -n 1)" >&2 ;;
        esac
        return 1
      }
      rm "$g_part" ;;
    *) mv "$g_part" "$g_part.plain" ;;
  esac
  if [ -n "$3" ] && [ "$(sha256sum <"$g_part.plain" | cut -d' ' -f1)" != "$3" ]; then
    echo "$SHOWN$g_name is damaged: its SHA-256 is not that of its backup" >&2
    return 1
  fi
  mv "$g_part.plain" "$2"
}

# Prints a time of the backup.info that was read, seconds since 1970, or nothing. Argument: begin or end
info_time() { word_of "$work/info" "$1_time" | date -f - +%s 2>/dev/null; }

# Whether all words of the backup.info that was read are such as Barman writes.
is_info() {
  for word in timeline version begin_wal end_wal end_xlog; do word_of "$work/info" "$word"; done | tr '\n' ' ' |
    grep -qxE '[0-9]{1,9} [0-9]{5,6} [0-9A-F]{24} [0-9A-F]{24} [0-9A-F]{1,8}/[0-9A-F]{1,8} '
}

# Whether the newest timeline has all of the base backup that was read. Argument: its folder
is_followed() {
  newest=$(sed -n "s|^${1%base/*}log/\([0-9A-F]\{8\}\.history\.[0-9]*\).*|\1|p" "$work/there" | sort | tail -n 1)
  timeline=1 left=''
  if [ -n "$newest" ]; then
    rm -f "$work/history"
    get "${1%base/*}log/$newest" "$work/history" '' 0 </dev/null || exit 1
    timeline=$((0x${newest%%.*})) left=$(left_before <"$work/history")
  fi
  own=$(word_of "$work/info" timeline)
  # The recovery would silently be one to before it.
  [ "$own" -le "$timeline" ] ||
    fail "the base backup $SHOWN$1 is of timeline $own, which a recovery of the server began, and $(printf '%08X' "$own").history is not there: let the backup host send it. Where that host is gone, remove backup.info of that base backup to recover from the one before it"
  is_of_timeline "$work/info" "$timeline" "$left"
}

# Sets $base to the newest base backup that ended before the time, and $repository to the folder of its repository, with / at its end: SYSTEM/NAME/,
# or nothing where backup.copy_to names that folder. One that cannot be read is named, and the one before it is taken.
choose_base() {
  until=9999999999 base='' unread=''
  if [ "$time" != latest ]; then until=$(date -d "$time" +%s) || fail "$time is not a time"; fi
  sed -nE 's#^(([0-9]+/[0-9a-f]+/)?base/([0-9]{8}T[0-9]{6}))/backup\.info(\.age)? .*#\3 \1#p' "$work/there" | sort -r >"$work/bases"
  while read -r _ each; do
    rm -f "$work/info"
    get "$each/backup.info" "$work/info" '' 0 </dev/null || { unread=yes; continue; }
    ended=$(info_time end) started=$(info_time begin)
    if [ -z "$ended" ] || [ -z "$started" ] || ! is_info; then echo "$SHOWN$each/backup.info is damaged" >&2; unread=yes; continue; fi
    if is_followed "$each" && [ "$ended" -le "$until" ]; then base=$each; break; fi
  done <"$work/bases"
  if [ -z "$base" ] && [ -n "$unread" ]; then exit 1; fi
  [ -n "$base" ] ||
    fail "no whole base backup${only_age:+ that is encrypted} in $SHOWN ended before $time${only_age:+: a copy in plain text is taken only without backup.recipients, backup.identity and --copy-identity}"
  repository=${base%base/*}
}

# Ends where another repository, too, has log from after the beginning of the base backup: then two servers ran, and only the operator knows
# which of them has the data.
need_one_repository() {
  others=$(sed -nE 's#^(([0-9]+/[0-9a-f]+/)?)log/[0-9A-F]{24}\.([0-9]+)(\.age)? .*#\3 \1#p' "$work/there" |
    awk -v own="$repository" -v started="$started" -v until="$until" -v shown="$SHOWN" '
      $2 != own && $1 > started && $1 <= until && !($2 in seen) { seen[$2]; printf "%s%s%s", count++ ? ", " : "", shown, $2 }')
  [ -z "$others" ] ||
    fail "more than one repository was sent to $SHOWN at that time: $SHOWN$repository, $others. Name the folder of the right one in backup.copy_to for the recovery"
}

# Writes what is fetched, a line each: name, target, SHA-256 or -, arrival or -. It is the log that recovery.sh lists.
list_items() {
  begin=$(word_of "$work/info" begin_wal)
  end=$(word_of "$work/info" end_wal)
  if [ ! -s "$data/pieces/SHA256SUMS" ] || grep -qvxE '[0-9a-f]{64} [ *]piece-[0-9]{6}\.tar\.zst' "$data/pieces/SHA256SUMS"; then
    rm "$data/pieces/SHA256SUMS"
    fail "$SHOWN$base/SHA256SUMS is damaged: it names what is no piece, or nothing"
  fi
  sed "s|^\([0-9a-f]*\) [ *]\(.*\)|$base/\2 $data/pieces/\2 \1 -|" "$data/pieces/SHA256SUMS"
  sed -n "s|^${repository}log/\([0-9A-F]*\(\.history\)\{0,1\}\)\.\([0-9]*\)\(\.age\)\{0,1\} \([0-9]*\)$|\1 \3 \5|p" "$work/there" | sort |
    awk -v newest="$timeline" -v left="$left" -v begin="$begin" -v end="$end" -v until="$until" -v folder="${repository}log/" "$segments"'
      # As text: awk takes names of digits alone for numbers, and rounds them.
      $1 "" == before "" { next }
      { before = $1; item = folder $1 "." $2 " wals/" $1 " - " $2 }
      $1 ~ /history$/ { print item; next }
      over || length($1) != 24 || at($1) < at(begin) || $1 "" != needed(at($1)) "" { next }
      { print item; if (is_enough($2, $3) && at($1) > at(end)) over = 1 }'
}

# Fetches each of so many items. Argument: number of the worker
work_through() {
  number=0
  while read -r name target sum arrived; do
    number=$((number + 1))
    if [ $((number % WORKERS)) != "$1" ]; then continue; fi
    [ ! -e "$work/failed" ] || exit 1
    get "$name" "$target" "${sum#-}" "$1" </dev/null || { : >"$work/failed"; exit 1; }
    [ "$arrived" = - ] || touch -d "@$arrived" "$target" || exit 1
  done <"$work/items"
}

# The fetch does not start without room on the disk. An encrypted file is there twice while it is decrypted.
need_room() {
  find wals "$data/pieces" -type f >"$work/here"
  needed=$(awk -v workers="$WORKERS" '
    FILENAME == ARGV[1] { here[$0]; next }
    FILENAME == ARGV[2] { size[$1] = $2; next }
    $2 in here { next }
    $1 in size { sum += size[$1]; next }
    { sum += size[$1 ".age"]; if (size[$1 ".age"] > largest) largest = size[$1 ".age"] }
    END { printf "%.0f", sum + workers * largest }' "$work/here" "$work/there" "$work/items")
  free=$(df -P -B1 . | awk 'END { print $4 }')
  [ "$needed" -le "$free" ] ||
    fail "there is no room in $folder for the copy: $((needed / 1000000)) MB have to be fetched, and $((free / 1000000)) MB are free"
}

input=$(cat)
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(printf '%s\n' "$input" | grep -v '^AGE-SECRET-KEY-')
IDENTITY=$(printf '%s\n' "$input" | grep '^AGE-SECRET-KEY-')
can_sign >&2 || exit 1
mkdir -p "$folder" && cd "$folder" && exec 9>lock || exit 1
flock -n 9 || fail 'another fetch runs'
work=work
# What a run without an end has fetched before a crash of the machine may not be on its disk.
boot=$(cat /proc/sys/kernel/random/boot_id)
case $(cat boot 2>/dev/null) in
  synced | "$boot") lost='' ;;
  # The version before had no such note, and gave a whole fetch its backup.info last.
  '') lost=$([ -n "$(find base -name backup.info 2>/dev/null)" ] || echo yes) ;;
  *) lost=yes ;;
esac
rm -rf "$work" fetched
mkdir "$work" || exit 1
list_folder "$SHOWN" "$BUCKET" "$PREFIX" >"$work/all" || exit 1
[ -z "$lost" ] || rm -rf wals base
echo "$boot" >boot || exit 1
# With a key, what is in plain text there could be anybody's. Without one, a copy that was not encrypted at first ends where it was.
only_age=${RECIPIENTS:+yes}${IDENTITY:+yes}
if [ -n "$only_age" ]; then unwanted='/\.age [0-9]*$/!d'
elif grep -q '/backup\.info [0-9]*$' "$work/all"; then unwanted='/\.age [0-9]*$/d'
else unwanted=''; fi
sed "$unwanted" "$work/all" >"$work/there" || exit 1
choose_base
need_one_repository
# Of a run to another time, or of another repository.
if [ "$(cat source 2>/dev/null)" != "$SHOWN$repository" ]; then rm -rf wals base; fi
mkdir -p wals && echo "$SHOWN$repository" >source || exit 1
for each in base/*; do
  [ "$each" = "base/${base##*/}" ] || rm -rf "$each"
done
data=base/${base##*/}/data
mkdir -p "$data/pieces" || exit 1
get "$base/SHA256SUMS" "$data/pieces/SHA256SUMS" '' 0 && get "$base/backup_manifest" "$data/backup_manifest" '' 0 || exit 1
list_items >"$work/items" || exit 1
need_later_log "$(awk '$4 + 0 > newest { newest = $4 + 0 } END { printf "%.0f", newest }' "$work/items")" "in $SHOWN$repository"
need_room
workers='' worker=0
while [ "$worker" -lt "$WORKERS" ]; do
  work_through "$worker" &
  workers="$workers $!" worker=$((worker + 1))
done
for each in $workers; do wait "$each" || : >"$work/failed"; done
[ ! -e "$work/failed" ] || fail "the copy in $SHOWN is not fetched. The next run goes on"
# A base backup counts by it.
log_names "$repository" <"$work/all" >seen &&
  mv "$work/info" "$data/../backup.info" && rm -rf "$work" && sync -f . && echo synced >boot && printf '%s\n' "$time" >fetched.new && mv fetched.new fetched
