#!/bin/sh
# Prints why the data of the Docker engine cannot be moved to a folder, and in a second line what to do. Prints nothing where nothing
# speaks against it. It only reads, and the engine goes on. Sent with docker-root.sh before it.
#
# Arguments: the present folder, the new one, and the folder with the state of a move: a copy that it began counts as free.
set -u
export LC_ALL=C
from=$1 to=$2 state=$3

refuse() { printf '%s\n%s\n' "$1" "$2"; exit 0; }
megabytes() { echo "$(($1 / 1000000)) MB"; }

flag=$(dockerd_option --data-root --graph -g)
[ -z "$flag" ] || refuse "dockerd is started with the option --data-root $flag, and then no setting in /etc/docker/daemon.json changes it" \
  "write \"data-root\": \"$flag\" into /etc/docker/daemon.json, take the option away (systemctl cat docker.service and /etc/default/docker show where it is), and restart Docker: its data stay where they are, and the next deploy moves them"
file=$(dockerd_option --config-file)
case $file in
  '' | /etc/docker/daemon.json) ;;
  *) refuse "dockerd reads its settings from $file (--config-file), and not from /etc/docker/daemon.json" \
    "move these settings to /etc/docker/daemon.json, take the option away (systemctl cat docker.service shows where it is), and restart Docker" ;;
esac
case $(timeout 10 docker info --format '{{.SecurityOptions}}' 2>/dev/null) in
  *name=userns*) refuse "Docker gives its containers users of their own (userns-remap), and keeps its data in a folder of theirs, $from" \
    "no deployment works with that: the first check of a deploy says what to do" ;;
esac

# btrfs and zfs have each layer in a file system of its own: a copy of the folder has none of them. An engine that gives no answer has a
# driver that nobody can know here.
driver=$(timeout 10 docker info --format '{{.Driver}}' 2>/dev/null)
case $driver in
  overlay* | fuse-overlayfs | vfs | '') ;;
  *) refuse "Docker keeps its images and containers by its storage driver $driver, and a copy of $from would hold none of their files" \
    "leave its data on the disk of $from (docker_root: { disk: … }), or write \"storage-driver\": \"overlay2\" into /etc/docker/daemon.json and restart Docker: it begins without its images and containers, whose files stay in $from" ;;
esac

place=$to
[ ! -L "$to" ] || refuse "$to, which is to hold the data of docker, is a link" "put a folder in its place, or nothing"
while [ ! -e "$place" ]; do place=$(dirname "$place"); done
[ -d "$place" ] || refuse "$place, which is to hold the data of docker, is no folder" "move it away: mv $place $place.old"
mount=$(stat -L -c %m "$place")
type=$(findmnt -n -o FSTYPE --mountpoint "$mount" | tail -n 1)
case $type in
  ext2 | ext3 | ext4 | xfs | btrfs) ;;
  *) refuse "$place is on a file system of type ${type:-unknown}, on which Docker cannot work" "name another disk: docker_root: { disk: … }" ;;
esac
# With noexec, nodev and nosuid Docker works: the overlay file systems of its containers have options of their own.
case ,$(findmnt -n -o OPTIONS --mountpoint "$mount" | tail -n 1), in
  *,ro,*) refuse "$mount is mounted read-only" "mount it read-write: see dmesg for an error of the disk, and /etc/fstab" ;;
esac
if [ "$type" = xfs ]; then
  case $(xfs_info "$mount" 2>/dev/null) in
    *ftype=0*) refuse "the XFS file system at $mount was made without ftype, and Docker does not start on it" \
      "only a new file system has ftype: move what is on it elsewhere, then mkfs.xfs, or name another disk: docker_root: { disk: … }" ;;
  esac
fi

other=$(find "$to" -mindepth 1 -maxdepth 1 -print -quit 2>/dev/null)
if [ -n "$other" ] && [ "$(cat "$state/copy" 2>/dev/null)" != "$(stat -c '%i %W' "$to")" ]; then
  refuse "$to, which is to hold the data of docker, holds other data: $other" \
    "check what this path is used for: if nobody uses it, mv $to $to.old"
fi

# Those of the engine and of its volumes go when it stops. A disk that somebody mounted there would stay behind.
findmnt -rn -o FSTYPE,TARGET | awk -v from="$from/" 'index($2, from) == 1 && $2 !~ /\/_data$/ && $1 !~ /^(overlay|tmpfs|nsfs)$/' |
  {
    read -r below target || exit 0
    refuse "a file system of type $below is mounted at $target, in the data of docker" "unmount it, or move the data of docker by hand"
  } | grep . && exit 0

# Counting a large folder takes long: the move itself counts it to the end.
reserve() { echo "$(($1 + $1 / 20))"; }
needed=$(timeout 20 du -sx -B1 "$from" 2>/dev/null | cut -f1)
free=$(df -P -B1 "$place" | awk 'END { print $4 }')
there=$( (du -sx -B1 "$to" 2>/dev/null || echo 0) | cut -f1)
if [ -n "$needed" ] && [ "$(reserve "$needed")" -gt "$((free + there))" ]; then
  refuse "there is no room for it: the data of docker takes $(megabytes "$needed"), and $(megabytes "$free") are free for $to" \
    "make room there, or name another disk: docker_root: { disk: … }"
fi
# btrfs has no limit of files, and shows 0 of 0.
total=$(df -P -i "$place" | awk 'END { print $2 }')
files=$(timeout 20 du -sx --inodes "$from" 2>/dev/null | cut -f1)
free=$(df -P -i "$place" | awk 'END { print $4 }')
there=$( (du -sx --inodes "$to" 2>/dev/null || echo 0) | cut -f1)
case $total$files$free in '' | *[!0-9]*) exit 0 ;; esac
if [ "$total" -gt 0 ] && [ -n "$files" ] && [ "$(reserve "$files")" -gt "$((free + there))" ]; then
  refuse "there is no room for it: the data of docker are $files files, and the file system of $to has room for $free more" \
    "make room there, or name another disk: docker_root: { disk: … }"
fi
exit 0
