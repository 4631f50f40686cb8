#!/bin/sh
# First process of a host with systemd, in its own namespaces: does the work of firmware and initrd, then starts systemd. Its files are
# this machine's, under an overlay in memory.
# $1: an empty folder, to mount on
set -e
work=$1 root=$1/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$work"
mkdir -p "$work/upper/etc/systemd" "$work/upper/var/lib" "$work/work" "$root"
# White-outs: what this machine keeps in these, and the units that it starts, are its own affair.
for each in tmp root etc/systemd/system var/lib/docker; do mknod "$work/upper/$each" c 0 0; done
mount -t overlay overlay -o lowerdir=/,upperdir="$work/upper",workdir="$work/work",volatile "$root"
mkdir -p "$root/tmp" "$root/root" "$root/etc/systemd/system"
chmod 1777 "$root/tmp"
chmod 700 "$root/root"
hostname systemd-host
# Without a number of its own the host counts as one that was never started.
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
ip link set lo up
mkdir "$root/.outside"
cd "$root"
pivot_root . .outside
umount -l /.outside
rmdir /.outside
# As systemd does where it starts a machine. In a container it leaves that to whoever made it.
mount --make-rshared /
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target --log-target=console </dev/null
