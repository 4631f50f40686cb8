#!/bin/sh
# First process of a light host, in its own namespaces: does the work of firmware and initrd, then starts systemd.
# $1: file system to start from, read-only; $2: directory with keys; $3: name
set -e
base=$1 seed=$2 name=$3
mount --make-rprivate /
work=/run/bench-host
mkdir -p $work
# Visible to this host alone, and removed with it.
mount -t tmpfs tmpfs $work
mkdir $work/upper $work/work $work/root
mount -t overlay overlay -o lowerdir="$base",upperdir=$work/upper,workdir=$work/work $work/root
root=$work/root
hostname "$name"
echo "$name" >$root/etc/hostname
printf '127.0.0.1 localhost\n' >$root/etc/hosts
cp "$seed"/ssh_host_ed25519_key* $root/etc/ssh/
install -d -m 0700 "$root/root/.ssh"
cp "$seed/authorized_keys" $root/root/.ssh/
mount -t proc proc $root/proc
mount -t sysfs -o ro sysfs $root/sys
mount -t cgroup2 cgroup2 $root/sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs $root/dev
for device in null zero full random urandom tty; do
  : >$root/dev/$device
  mount --bind /dev/$device $root/dev/$device
done
mkdir $root/dev/pts $root/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts $root/dev/pts
ln -s pts/ptmx $root/dev/ptmx
mount -t tmpfs tmpfs $root/dev/shm
mount -t tmpfs -o mode=755 tmpfs $root/run
mkdir $root/.outside
cd $root
pivot_root . .outside
umount -l /.outside
rmdir /.outside
exec env -i container=bench PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=null </dev/null >/dev/null 2>&1
