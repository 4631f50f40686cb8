#!/bin/sh
# Makes a host of a test what the schedules ask: a disk with a file system of its own, units in place of Docker and of the state database.
# $1: the program node
set -eu
mknod /dev/loop-control c 10 237
for number in $(seq 0 63); do mknod "/dev/loop$number" b 7 "$number"; done
truncate -s 32M /srv/image
mkfs.ext4 -q -F /srv/image
mkdir -p /srv/disk/state-db /var/lib/prometheus/node-exporter
chown -R prometheus: /var/lib/prometheus 2>/dev/null || chown -R nobody: /var/lib/prometheus
mount -o loop /srv/image /srv/disk
mkdir -p /srv/disk/state-db
cat >/etc/systemd/system/docker.service <<END
[Service]
ExecStart=$1 /usr/local/lib/stand-in.mjs
[Install]
WantedBy=multi-user.target
END
# Its socket is in a namespace of its own, as that of a container is.
programs=/usr/lib/postgresql/15/bin
mkdir /srv/postgres
chown postgres: /srv/postgres
setpriv --reuid=postgres --regid=postgres --init-groups "$programs/initdb" --auth=trust --no-sync --locale=C --username=state_user -D /srv/postgres >/dev/null
cat >/etc/systemd/system/state-db.service <<END
[Service]
User=postgres
TemporaryFileSystem=/run/postgresql:mode=1777
ExecStart=$programs/postgres -D /srv/postgres -c listen_addresses=* -c unix_socket_directories=/run/postgresql -c fsync=off
END
systemctl daemon-reload
systemctl enable --quiet docker.service
systemctl start state-db
ask() { setpriv --reuid=postgres --regid=postgres --init-groups psql -h 127.0.0.1 -U state_user -XqAt "$@"; }
for _ in $(seq 100); do ! ask -d postgres -c '' 2>/dev/null || break; sleep 0.1; done
ask -d postgres -c 'create database state_db' -c 'create database prover_db'
ask -d state_db -c "create schema state" -c "create table state.l2block as select n as block_num, '0x' || repeat('a', 64) as block_hash,
  to_timestamp(100000000) as received_at, to_timestamp(100000000) as created_at from generate_series(1, 41) n"
ask -d prover_db -c 'create schema state' -c 'create table state.nodes as select 1 as n'
