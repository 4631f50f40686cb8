#!/bin/sh
# Functions for a copy that becomes the data directory of a database. The copy is made on the file system of that directory: beside it, or
# in it where it is a mount of its own, which nobody can rename.

# Prints the folder of the copy for the data directory $1. Its folder `data` is the copy.
place_of_copy() {
  if mountpoint -q "$1"; then echo "$1/.rpc-node-copy"; else echo "$1.rpc-node-copy"; fi
}

# Prints the bytes that a copy for the data directory $1 may take: what is free, and what an interrupted copy has taken. A link has the copy
# on the file system that it leads to.
room_for_copy() {
  place=$(place_of_copy "$(readlink -m "$1")")
  taken=$(du -sx -B1 "$place" 2>/dev/null | cut -f1)
  while [ ! -d "$place" ]; do place=$(dirname "$place"); done
  echo $(($(df -P -B1 "$place" | awk 'END { print $4 }') + ${taken:-0}))
}

# Prints what the data directory $1 holds beside a copy that is not in its place yet.
held_in() { find "$1" -mindepth 1 -maxdepth 1 ! -name .rpc-node-copy 2>/dev/null; }

# Whether a whole copy is half in the data directory $1: its way there was interrupted. $2 is the file that marks it as whole.
is_half_placed() { [ "$(cat "$1/.rpc-node-copy/whole" 2>/dev/null)" = "$2" ]; }

# Removes what pieces of a snapshot the copy in the folder $1 has. They may be in a file system in memory: a run that was killed leaves it.
remove_pieces() {
  if mountpoint -q "$1/pieces"; then umount "$1/pieces" || umount --lazy "$1/pieces" || return; fi
  rm -rf "$1/pieces"
}

# Removes the copy in the folder $1, whatever has made it. Notes of what it holds go first: the removal may be ended at any moment.
remove_copy() { remove_pieces "$1" && rm -rf "$1/of" "$1/lists" "$1/whole" && rm -rf "$1"; }

# Makes the whole copy the data directory $1. Its file $2 marks the directory as whole, so it is moved last.
put_in_place() {
  place=$(place_of_copy "$1")
  if ! mountpoint -q "$1"; then
    mkdir -p "$(dirname "$1")" && { [ ! -d "$1" ] || rmdir "$1"; } && mv "$place/data" "$1" && remove_copy "$place"
    return
  fi
  echo "$2" >"$place/whole" && sync -f "$place" &&
    chown --reference="$place/data" "$1" && chmod --reference="$place/data" "$1" &&
    find "$place/data" -mindepth 1 -maxdepth 1 ! -name PG_VERSION ! -name "$2" -exec mv -t "$1" {} + || return
  for name in PG_VERSION "$2"; do
    [ ! -e "$place/data/$name" ] || mv "$place/data/$name" "$1" || return
  done
  sync -f "$1" && remove_copy "$place"
}
