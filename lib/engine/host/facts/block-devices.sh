# shellcheck shell=sh
# Prints the output of lsblk, an empty line, and the signatures that blkid finds on each device. lsblk has signatures from udev, and
# shows none without udev: that must not pass for a blank disk. Exit code 2 of blkid: nothing was found, or nothing could be read.
# Then the places of devices in sysfs, the devices and files below them, and those links that say what a cloud's disk is.
lsblk -J -b -o KNAME,PATH,MAJ:MIN,SIZE,TYPE,ROTA,RM,TRAN,MODEL,FSTYPE,LABEL,UUID,MOUNTPOINT,PKNAME 2>/dev/null ||
  lsblk -J -b -o KNAME,SIZE,TYPE,ROTA,TRAN,FSTYPE,MOUNTPOINT,PKNAME 2>/dev/null || echo '{"blockdevices":[]}'
echo
for entry in /sys/class/block/*; do
  read -r size <"$entry/size" || continue
  [ "$size" -gt 0 ] || continue
  name=${entry##*/}
  case $name in ram* | fd* | sr*) continue ;; esac
  for below in "$entry"/slaves/*; do
    [ ! -e "$below" ] || echo "below $name ${below##*/}"
  done
  if read -r file 2>/dev/null <"$entry/loop/backing_file"; then echo "backing $name $file"; fi
  case $name in zram*) continue ;; esac
  device=/dev/$name
  case $name in *!*) device=/dev/$(printf %s "$name" | tr '!' /) ;; esac
  [ -b "$device" ] || continue
  blkid -p -s TYPE -s PTTYPE -s UUID -s LABEL -o export "$device" 2>&1
  echo "probed $? $name"
done
for entry in /sys/class/block/*; do
  if [ -e "$entry/device" ]; then echo "sysfs ${entry##*/} $(readlink -f "$entry")"; fi
done
for link in /dev/disk/cloud/azure_* /dev/disk/azure/resource* /dev/disk/azure/local/*/* /dev/disk/azure/temp/*/* /dev/disk/by-id/google-local-*; do
  if [ -b "$link" ]; then
    device=$(readlink -f "$link")
    echo "link ${device##*/} $link"
  fi
done
exit 0
