#!/bin/sh
# Judges the repository of backups: what is wrong with it, a line each, for playbooks/status.mjs, and metrics for node_exporter. Run by a
# systemd timer on the backup host; it changes nothing in the repository.
#
# Arguments: folder of the repository, connection to the server, folder of the textfile collector, folder of the results, hours after which
# a backup is too old, hours after which the drill must have passed again (0: no drill); folder with the notes of the copy in a storage, where
# there is one (send-backup.sh).
# The functions of base-backups.sh and timeline.sh are before this text.
# shellcheck disable=SC2154 # timeline.sh sets timeline, left and segments
set -u
umask 022
export LC_ALL=C TZ=UTC
folder=$1 connection=$2 textfiles=$3 state=$4 oldest=$5 drill=$6 copy=${7:-}
# Write-ahead log that may be missing here. Megabytes; the alert says the same.
behind_limit=256
# Age of the newest log in the storage at which it is too old. Seconds; the alert says the same.
copy_limit=3600
now=$(date +%s)
mkdir -p "$state" || exit 1
out=$(mktemp -d "$state/.new.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
: >"$out/problems"
# A result that a full disk has cut would be a better one: the former stays, and is old before long.
problem() { printf '%s\n' "$*" >>"$out/problems" || exit 1; }
# Prints the reason in a file of the results, where it is there. Argument: its name
reason_in() { [ ! -e "$state/$1" ] || head -n 1 "$state/$1" | grep . || echo 'the disk was full, and the reason is lost'; }

# The full disk first: it explains what follows.
free=$(df -B1 --output=avail "$folder" | tail -n 1)
size=$(df -B1 --output=size "$folder" | tail -n 1)
[ "$free" -ge $((size / 50)) ] || problem "repository full: $((free / 1048576)) MB of $folder are left, and no write-ahead log arrives without space"

choose_timeline "$folder"
# No date but the name of the newest backup that is whole. The log is needed from the beginning of the newest one that a recovery can take.
newest=0 needed_from=0 begin=''
for each in $(whole_bases "$folder"); do
  info=$(info_of "$folder" "$each")
  end=$(date -d "$(word_of "$info" end_time)" +%s) || continue
  [ "$end" -gt "$newest" ] && newest=$end
  if [ "$end" -gt "$needed_from" ] && is_of_timeline "$info" "$timeline" "$left"; then needed_from=$end begin=$(word_of "$info" begin_wal); fi
done
if [ "$newest" = 0 ]; then problem 'no backup: there is no whole base backup'
elif [ $((now - newest)) -gt $((oldest * 3600)) ]; then
  problem "backup too old: the newest is of $(date -d "@$newest" '+%Y-%m-%d %H:%M'), more than $oldest hours ago"
fi

said=$(reason_in verify-failed)
case $said in
  '') ;;
  'there is no room'* | 'the disk was full'*) problem "the newest base backup is not verified: $said" ;;
  *) problem "the newest base backup is corrupt: $said" ;;
esac

said=$(reason_in no-room)
[ -z "$said" ] || problem "no base backup is made: $said"

# A segment that lacks its predecessor, also of the timeline before: nothing after the gap can be recovered from a backup before it.
gap=$(find "$folder/wals" "$folder/streaming" -type f -name '????????????????????????' -printf '%f\n' 2>/dev/null | sort -u |
  awk -v newest="$timeline" -v left="$left" -v begin="$begin" "$segments"'
    BEGIN { from = at(begin) }
    at($0) < from || $0 "" != needed(at($0)) "" { next }
    name != "" && at($0) != last + 1 { print name " is followed by " $0; exit }
    # The log begins with that of the base backup.
    name == "" && begin != "" && at($0) != from { exit }
    { last = at($0); name = $0 "" }
    END { if (begin != "" && name == "") print needed(from) " is not there" }')
[ -z "$gap" ] || problem "gap in the write-ahead log: $gap; make a base backup: barman backup state-db"

# What the server says of the receiver: bytes that it lacks, and whether its slot still holds all that it needs.
answer=$(as_user barman psql -XAtq "$connection" -c "
  select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), r.write_lsn))::bigint, -1),
    coalesce((select wal_status from pg_replication_slots where slot_name = 'barman'), 'absent')
  from pg_stat_replication r where r.usename = current_user and r.application_name = 'barman_receive_wal'" 2>&1)
case $answer in
  *'|'*) behind=${answer%|*} slot=${answer#*|} ;;
  *) behind=-1 slot=unknown; problem "the state database does not answer: $(printf '%s' "$answer" | tail -n 1)" ;;
esac
receiving=1
if [ "$behind" -lt 0 ]; then
  receiving=0
  [ "$slot" = unknown ] || problem 'archive behind: no write-ahead log is received'
elif [ "$behind" -gt $((behind_limit * 1048576)) ]; then
  problem "archive behind: $((behind / 1048576)) MB of write-ahead log are not here yet"
fi
[ "$slot" != lost ] || problem 'gap in the write-ahead log: the server dropped what was not received; drop its slot, and make a base backup'

answer=$(as_user barman timeout 50 barman check --nagios state-db 2>&1) ||
  problem "barman check: $(printf '%s' "$answer" | sed 's/ | .*//' | tail -n 1)"

# A drill that runs puts the result of the one before it aside.
passed=0
for each in "$state/drill-passed.before" "$state/drill-passed"; do
  [ ! -s "$each" ] || passed=$(stat -c %Y "$each")
done
# One that has never passed counts from the first check.
[ -e "$state/checked-since" ] || touch "$state/checked-since"
since=$(stat -c %Y "$state/checked-since")
[ "$passed" -lt "$since" ] || since=$passed
# Also one that the operator ran.
said=$(reason_in drill-failed)
if [ -n "$said" ]; then problem "the recovery drill failed: $said"
elif [ "$drill" -gt 0 ] && [ $((now - since)) -gt $((drill * 3600)) ]; then
  problem "the recovery drill has not passed for $drill hours"
fi

# The notes are barman's: root would follow a link there.
note() { as_user barman cat "$copy/$1" 2>/dev/null; }
# Reports files of the copy that are too old. Arguments: what they are, the time of the newest (0 without one), the age at which that is too
# old in seconds, and the same age in words
judge_copy() {
  if [ "$2" -ge $((now - $3)) ] || [ "$since" -ge $((now - $3)) ]; then return 0; fi
  if [ "$2" = 0 ]; then problem "copy off the site too old: it still has no $1 after $4"
  else problem "copy off the site too old: the newest $1 there is of $(date -d "@$2" '+%Y-%m-%d %H:%M'), more than $4 ago"; fi
}
copied_log=0 copied_base=0
if [ -n "$copy" ]; then
  copied_log=$(note log-at | grep -x '[0-9]*') || copied_log=0
  copied_base=$(note base-at | grep -x '[0-9]*') || copied_base=0
  # A first copy counts from the first check, as it takes hours.
  [ -e "$state/copied-since" ] || touch "$state/copied-since"
  since=$(stat -c %Y "$state/copied-since")
  failed=$(note failed | tail -n 1)
  if [ -n "$failed" ]; then problem "copy off the site fails: $failed"; fi
  judge_copy 'write-ahead log' "$copied_log" "$copy_limit" "$((copy_limit / 60)) minutes"
  judge_copy 'base backup' "$copied_base" $((oldest * 3600)) "$oldest hours"
else
  rm -f "$state/copied-since"
fi
[ -z "$copy" ] || echo "$copied_log $copied_base" >"$out/copied" || exit 1

# With a fault of the copy alone the repository is whole.
if grep -qv '^copy off the site' "$out/problems"; then sound=0; else sound=1; fi

cat >"$out/metrics" <<END || exit 1
# HELP rpc_node_backup_ok Whether nothing is wrong with the repository of backups.
# TYPE rpc_node_backup_ok gauge
rpc_node_backup_ok $sound
# HELP rpc_node_backup_newest_seconds End of the newest whole base backup, seconds since 1970; 0 without one.
# TYPE rpc_node_backup_newest_seconds gauge
rpc_node_backup_newest_seconds $newest
# HELP rpc_node_backup_oldest_allowed_seconds Age at which a base backup is too old.
# TYPE rpc_node_backup_oldest_allowed_seconds gauge
rpc_node_backup_oldest_allowed_seconds $((oldest * 3600))
# HELP rpc_node_backup_receiving Whether write-ahead log is received from the state database.
# TYPE rpc_node_backup_receiving gauge
rpc_node_backup_receiving $receiving
# HELP rpc_node_backup_behind_bytes Write-ahead log of the state database that is not here yet; -1 if that is not known.
# TYPE rpc_node_backup_behind_bytes gauge
rpc_node_backup_behind_bytes $behind
# HELP rpc_node_backup_gap Whether write-ahead log is missing between two segments, or was dropped by the server.
# TYPE rpc_node_backup_gap gauge
rpc_node_backup_gap $([ -n "$gap" ] || [ "$slot" = lost ] && echo 1 || echo 0)
# HELP rpc_node_backup_drill_passed_seconds When the recovery drill passed, seconds since 1970; 0 for never.
# TYPE rpc_node_backup_drill_passed_seconds gauge
rpc_node_backup_drill_passed_seconds $passed
END
if [ -n "$copy" ]; then
  cat >>"$out/metrics" <<END || exit 1
# HELP rpc_node_backup_copied_seconds Until when all write-ahead log of the repository is in the storage, seconds since 1970; 0 for never.
# TYPE rpc_node_backup_copied_seconds gauge
rpc_node_backup_copied_seconds $copied_log
# HELP rpc_node_backup_copied_base_seconds End of the newest base backup that is whole in the storage, seconds since 1970; 0 without one.
# TYPE rpc_node_backup_copied_base_seconds gauge
rpc_node_backup_copied_base_seconds $copied_base
# HELP rpc_node_backup_copied_since_seconds When the copies began, seconds since 1970.
# TYPE rpc_node_backup_copied_since_seconds gauge
rpc_node_backup_copied_since_seconds $since
END
fi
chmod 0644 "$out/problems" "$out/metrics"
mv "$out/problems" "$state/problems" || exit 1
if [ -n "$copy" ]; then chmod 0644 "$out/copied" && mv "$out/copied" "$state/copied" || exit 1; else rm -f "$state/copied"; fi
if [ -d "$textfiles" ]; then hand_over "$out/metrics" "$textfiles" rpc_node_backup.prom; fi
