#!/bin/sh
# Functions that make a data directory of what a backup host offers (recovery.sh). Several workers fetch at the same time. A piece is fetched
# into a file beside the data directory, verified, unpacked and removed, so only its unpacked files stay. It may be ended at any moment and
# run again: what is unpacked is not fetched again, unless the machine has restarted.
#
# Settings:
#   SOURCE     of rsync: the folder of the offer, or its address
#   WORKERS    how many fetch at the same time
#   PASSWORD_FILE   for the address; may be empty
#   CONNECT    program that encrypts the connection to the address; empty or unset: it is in plain text
: "${WORKERS:=4}"
[ -z "${CONNECT:-}" ] || export RSYNC_CONNECT_PROG="$CONNECT"

# Fetches with rsync. Arguments: its options, then path in the offer, then target
take() {
  set -- --archive --no-owner --no-group --whole-file --contimeout=30 --timeout=300 --password-file="$PASSWORD_FILE" "$@"
  case $SOURCE in
    rsync://*) rsync "$@" ;;
    *) shift 7; rsync --archive --no-owner --no-group --whole-file "$@" ;;
  esac
}

# Unpacks one item of the list into the copy $1. Arguments: copy, kind, name, SHA-256 or -
unpack_item() {
  held=$1/held/$3
  mkdir -p "$held"
  case $2 in
    piece)
      take "$SOURCE/base/$3" "$held/" || return
      if [ "$(sha256sum <"$held/$3" | cut -d' ' -f1)" != "$4" ]; then
        echo "$3 of the base backup is corrupt" >&2
        return 1
      fi
      tar --use-compress-program='zstd -dq' --extract --preserve-permissions --no-same-owner --file="$held/$3" --directory="$1/data" || return ;;
    # The lists have names from the top of the offer: rsync 3.5.0 finds no others without a chroot.
    plain) take --partial --files-from="$1/lists/$3" "$SOURCE/" "$1/" || return ;;
    log)
      take --files-from="$1/lists/$3" "$SOURCE/" "$held/" || return
      mkdir -p "$1/data/pg_wal"
      for segment in "$held"/log/*; do gzip -dcf "$segment" >"$1/data/pg_wal/$(basename "$segment")" || return; done ;;
  esac
  rm -rf "$held"
}

# Unpacks each of so many items. Arguments: copy, number of the worker
work_through() {
  number=0
  while read -r kind name sum; do
    number=$((number + 1))
    if [ $((number % WORKERS)) != "$2" ] || [ -e "$1/done/$name" ]; then continue; fi
    [ ! -e "$1/failed" ] || exit 1
    unpack_item "$1" "$kind" "$name" "$sum" </dev/null || { : >"$1/failed"; exit 1; }
    : >"$1/done/$name"
  done <"$1/lists/items"
}

# Makes $1/data what the offer is. $1 may hold what an interrupted run has made of the same offer.
unpack_offer() {
  mkdir -p "$1/lists.new" && take "$SOURCE/lists/" "$1/lists.new/" || return
  # What was written before a crash of the machine may not be on its disk, whatever is marked as done.
  cp /proc/sys/kernel/random/boot_id "$1/lists.new/boot" || return
  # The files may be in their place already, and only the notes of them here.
  if [ ! -d "$1/data" ] || ! cmp -s "$1/lists/items" "$1/lists.new/items" || ! cmp -s "$1/lists/settings" "$1/lists.new/settings" ||
    ! cmp -s "$1/lists/boot" "$1/lists.new/boot"; then
    rm -rf "$1/lists" "$1/done" "$1/data"
    mv "$1/lists.new" "$1/lists" || return
  fi
  rm -rf "$1/lists.new" "$1/held" "$1/failed"
  mkdir -p "$1/data" "$1/done" "$1/held" && chmod 0700 "$1/data" || return
  pids='' worker=0
  while [ "$worker" -lt "$WORKERS" ]; do
    work_through "$1" "$worker" &
    pids="$pids $!" worker=$((worker + 1))
  done
  for pid in $pids; do wait "$pid" || : >"$1/failed"; done
  [ ! -e "$1/failed" ] || return
  grep -q '^recovery_target_timeline' "$1/lists/settings" || { echo 'the offer does not say where the recovery ends' >&2; return 1; }
  # What an earlier recovery has left in the settings of the server would be another target.
  sed -i -E '/^(restore_command|recovery_[a-z_]*) *=/d' "$1/data/postgresql.auto.conf" &&
    cat "$1/lists/settings" >>"$1/data/postgresql.auto.conf" && : >"$1/data/recovery.signal"
}
