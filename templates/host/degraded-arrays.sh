#!/bin/sh
# Prints each array of this host that lacks a disk, a line each: of mdraid, and of ZFS. Only what the kernel says is read. Argument: /proc
awk '
  $2 == ":" { name = $1; lacks = 0 }
  # Such as [2/1]: wanted, and in sync.
  name != "" && match($0, /\[[0-9]+\/[0-9]+\]/) {
    split(substr($0, RSTART + 1, RLENGTH - 2), disks, "/")
    if (disks[2] < disks[1]) {
      found[++count] = name " has " disks[2] " of " disks[1] " disks"
      lacks = 1
    }
  }
  lacks && / recovery *=/ { found[count] = found[count] ", and is being rebuilt" }
  END { for (n = 1; n <= count; n++) print found[n] }' "$1/mdstat" 2>/dev/null
for each in "$1"/spl/kstat/zfs/*/state; do
  if read -r state 2>/dev/null <"$each" && [ "$state" != ONLINE ]; then echo "pool $(basename "$(dirname "$each")") of ZFS is $state"; fi
done
exit 0
