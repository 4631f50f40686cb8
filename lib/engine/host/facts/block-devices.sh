# shellcheck shell=sh
# Prints the output of lsblk, an empty line, and the signatures that blkid finds on each device. lsblk has signatures from udev, and
# shows none without udev: that must not pass for a blank disk. Exit code 2 of blkid: nothing was found, or nothing could be read.
lsblk -J -b -o KNAME,PATH,SIZE,TYPE,ROTA,TRAN,FSTYPE,MOUNTPOINT,PKNAME 2>/dev/null || echo '{"blockdevices":[]}'
echo
for entry in /sys/class/block/*; do
  read -r size <"$entry/size" || continue
  [ "$size" -gt 0 ] || continue
  name=${entry##*/}
  case $name in ram* | zram* | fd* | sr*) continue ;; esac
  device=/dev/$name
  case $name in *!*) device=/dev/$(printf %s "$name" | tr '!' /) ;; esac
  [ -b "$device" ] || continue
  blkid -p -s TYPE -s PTTYPE -o export "$device" 2>&1
  echo "probed $? $name"
done
exit 0
