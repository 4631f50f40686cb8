#!/bin/sh
# Remembers on which file systems data lies, and says where that is not so any more: a disk that is not mounted looks like a new server.
#
#   data-disks seen NAME PATH       prints `same`, `new`, `moved` or `gone`, and after `gone` the cause and what to do, a line each
#   data-disks problems [NAME PATH]...  prints cause and what to do, two lines for each data that is not in its place. With names and
#                                   paths: also where the memory has another path for a name
#   data-disks remember NAME PATH   writes where it lies now
#   data-disks forget NAME          for data that was moved, or is gone for good: the next deploy takes what it finds
#   data-disks guard                before Docker starts: says the causes, and ends with 1 if there is one
#   data-disks watch                from time to time: begins to wait, where Docker waits for a mount without the guard
#   data-disks wait                 in a unit of its own, since the guard has kept Docker from starting: starts it as soon as no cause is left
#
# The name `docker` is Docker's root, with the path `-`: the one that the engine has now. The memory is on the root file system, for root
# alone: NAME PATH FILE-SYSTEM FOLDER DEVICE MOUNT-POINT TYPE, where FOLDER is the path within the file system.
# The file docker-root.sh comes before this one.
set -u
umask 077
export LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
memory=${DATA_DISKS_MEMORY:-/etc/rpc-node/data-disks}
unit=rpc-node-docker-waits
waits=/run/$unit
program=/usr/local/lib/rpc-node/data-disks

# Sets system, folder, device, target and type: where a path lies, or will lie.
locate() {
  whole=$(readlink -m "$1")
  place=$whole
  while [ ! -e "$place" ]; do place=$(dirname "$place"); done
  target=$(stat -L -c %m "$place" | sed 's/\\/\\134/g; s/ /\\040/g')
  # The last line of a mount point is that of the upper one: id parent number root target options… - type source options.
  line=$(awk -v target="$target" '$5 == target { line = $0 } END { print line }' /proc/self/mountinfo)
  # shellcheck disable=SC2086 # its fields
  set -f -- $line
  number=${3:-} root=${4:-/}
  # shellcheck disable=SC2086
  set -f -- ${line##* - }
  set +f
  type=${1:-unknown} device=${2:-unknown}
  name=$(sed -n 's/^DEVNAME=//p' "/sys/dev/block/$number/uevent" 2>/dev/null)
  [ -z "$name" ] || [ ! -b "/dev/$name" ] || device=/dev/$name
  folder=$(printf '%s\n' "${root%/}/${whole#"${target%/}"}" | sed 's,//*,/,g')
  case $device in
    /dev/*)
      system=$(blkid -p -s UUID -o value "$device" 2>/dev/null)
      system=${system:-$device}
      ;;
    *) system=$type:$device ;;
  esac
}

# Sets the same of what is remembered, with the prefix `old_`. Ends with 1 where nothing is, and with 2 where its line is damaged.
recall() {
  entry=$(awk -v name="$1" '$1 == name { print; exit }' "$memory" 2>/dev/null)
  [ -n "$entry" ] || return 1
  # shellcheck disable=SC2086
  set -f -- $entry
  set +f
  [ $# -ge 7 ] || return 2
  old_path=$2 old_system=$3 old_folder=$4 old_device=$5 old_target=$6 old_type=$7
}

# Prints cause and what to do if the data of a name, which is remembered, is not in its place.
problem() {
  recall "$1"
  case $? in
    1) return 0 ;;
    2)
      echo "the line of $1 in $memory is damaged, so it is not known on which disk these data were"
      echo "look whether they are in their place, then: $program forget $1, and deploy"
      return 0
      ;;
  esac
  # Docker's data was moved, or will be by a deploy: nothing depends on the former place.
  if [ "$1" = docker ] && [ "$(docker_root)" != "$old_path" ]; then return 0; fi
  out="If these data were moved, or are gone for good: $program forget $1, then deploy"
  if [ -n "${2:-}" ] && [ "$2" != "$old_path" ]; then
    echo "the data of $1 are in $old_path, and the inventory has $2 for them"
    echo "set paths.data back, or stop $1 and move its data there. $out"
    return
  fi
  locate "$old_path"
  [ "$system $folder" != "$old_system $old_folder" ] || return 0
  # A device that cannot be read has no UUID. By its name it is the same.
  if [ "$system $target" = "$old_device $old_target" ]; then return 0; fi
  held="the disk that held $old_path ($(words_of "$old_system"), was $old_device mounted at $old_target)"
  if [ "$system" = "$old_system" ]; then
    echo "$old_path is in another folder of its file system ($folder, and it was in $old_folder)"
    echo "mount that folder at $old_target again, as /etc/fstab had it. $out"
  elif [ "$target" = "$old_target" ]; then
    echo "$held is not mounted: another one is there ($(words_of "$system"), $device)"
    echo "take that one away (umount $target), and $(how_to_mount) $out"
  else
    echo "$held is not mounted"
    echo "$(how_to_mount) $out"
  fi
}

words_of() {
  case $1 in *[:/]*) echo "$1" ;; *) echo "UUID $1" ;; esac
}

how_to_mount() {
  case $old_system in
    zfs:*) echo "import its pool and mount it: zfs mount ${old_system#zfs:}." ;;
    *[:/]*) echo "mount it again: mount $old_target." ;;
    *)
      options=defaults,nofail
      within=${old_folder%"${old_path#"${old_target%/}"}"}
      if [ "$old_type" = btrfs ] && [ -n "$within" ]; then options=$options,subvol=$within; fi
      found=$(blkid -U "$old_system" 2>/dev/null)
      [ -n "$found" ] || echo "no disk with this UUID is attached: attach it, and"
      echo "mount it: mount -o $options UUID=$old_system $old_target; in /etc/fstab: UUID=$old_system $old_target $old_type $options 0 2."
      ;;
  esac | tr '\n' ' ' | sed 's/ $//'
}

# Prints the problems of all data that is remembered, or of those that are given with their paths.
problems() {
  known=$(awk '{ print $1 }' "$memory" 2>/dev/null)
  while [ $# -gt 1 ]; do
    problem "$1" "$2"
    known=$(printf '%s\n' "$known" | grep -vx "$1")
    shift 2
  done
  for each in $known; do problem "$each"; done
  return 0
}

write() {
  (umask 022 && mkdir -p "$(dirname "$memory")")
  touch "$memory"
  # On a full disk the new one is cut, and data that it lacks would be looked for no more: the former stays.
  { awk -v name="$1" '$1 != name' "$memory" && { [ -z "${2:-}" ] || printf '%s\n' "$2"; }; } >"$memory.new" &&
    sync "$memory.new" && mv "$memory.new" "$memory"
}

# Docker is not tried again and again, and its socket is closed: with a socket that systemd keeps open for it, each client would wait for an
# answer until the disk is there.
hold() {
  # The guard is itself a part of the start that is stopped here.
  trap '' TERM
  : >"$waits"
  systemctl stop --no-block docker.socket docker.service
  wait_for_data
}

# Once: a unit of this name that runs is not started again.
wait_for_data() { systemd-run --quiet --no-block --collect --unit="$unit" "$program" wait 2>/dev/null; }

# Nobody else stopped it: it was not started since the boot.
was_never_up() { [ "$(systemctl show --property ActiveEnterTimestampMonotonic --value docker.service)" = 0 ]; }

verb=$1
shift
case $verb in
  seen | remember)
    name=$1 path=$2
    [ "$path" != - ] || path=$(docker_root)
    ;;
esac
case $verb in
  seen)
    recall "$name"
    case $? in
      1) echo new; exit 0 ;;
      0) if [ "$name" = docker ] && [ "$path" != "$old_path" ]; then echo moved; exit 0; fi ;;
    esac
    found=$(problem "$name" "$path")
    if [ -n "$found" ]; then printf 'gone\n%s\n' "$found"; else echo same; fi
    ;;
  problems) problems "$@" ;;
  remember)
    data=$name
    locate "$path"
    write "$data" "$data $path $system $folder $device $target $type"
    ;;
  forget) write "$1" '' ;;
  guard)
    if found=$(problems) && [ -z "$found" ]; then exit 0; fi
    printf '%s\n' "${found:-the disks with data cannot be looked at}" >&2
    # Not where somebody only asks.
    if [ "$(systemctl show --property SubState --value docker.service)" = start-pre ]; then hold; fi
    exit 1
    ;;
  watch)
    if systemctl is-active --quiet docker.service; then
      rm -f "$waits"
    elif [ -e "$waits" ]; then
      wait_for_data
    elif was_never_up && systemctl is-enabled --quiet docker.service && [ -n "$(problems)" ]; then
      hold
    fi
    exit 0
    ;;
  wait)
    while [ -n "$(problems)" ]; do sleep 2; done
    rm -f "$waits"
    echo 'all data is in its place again: Docker starts'
    systemctl reset-failed docker.service docker.socket 2>/dev/null
    systemctl start --no-block docker.service
    ;;
esac
