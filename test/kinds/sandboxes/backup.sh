#!/bin/sh
# Begins the archive of a backup host, as cron and the first backup do, with the state database on the same host. $1: address and $2: port
# that the inventory has for it.
set -eu
ip addr add "$1/32" dev lo
echo "host all,replication all $1/32 trust" >>/srv/postgres/pg_hba.conf
sed -i "s/^ExecStart=.*/& -c port=$2/" /etc/systemd/system/state-db.service
systemctl daemon-reload
systemctl restart state-db
ask() { setpriv --reuid=postgres --regid=postgres --init-groups psql -h 127.0.0.1 -p "$2" -U state_user -d postgres -XqAt -c "$3"; }
for _ in $(seq 100); do ! ask "$1" "$2" '' 2>/dev/null || break; sleep 0.1; done
ask "$1" "$2" "create role rpc_node_backup superuser replication login"
mkdir -p /srv/drill
chown postgres: /srv/drill
cat >/usr/local/bin/docker <<'END'
#!/bin/sh
# In place of Docker: the engine sees the data outside of the sandbox of whoever asks.
case $1 in
  run)
    exec systemd-run --quiet --unit=drill-engine --collect sh -c 'chown -R postgres: /run/rpc-node-drill/.
      exec setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/15/bin/postgres -D /run/rpc-node-drill \
        -c hot_standby=off -c listen_addresses= -c unix_socket_directories=/srv/drill' ;;
  exec) while [ "$1" != psql ]; do shift; done; exec "$@" --host=/srv/drill ;;
  inspect) ! systemctl is-active --quiet drill-engine || echo true ;;
  logs) journalctl -o cat -u drill-engine ;;
  rm) systemctl stop drill-engine ;;
esac
END
chmod 755 /usr/local/bin/docker
barman() { HOME=/var/lib/barman setpriv --reuid=barman --regid=barman --init-groups barman "$@"; }
barman -q receive-wal --create-slot state-db
systemd-run --quiet --unit=receiver --uid=barman --setenv=HOME=/var/lib/barman barman -q receive-wal state-db
for _ in $(seq 100); do [ "$(ask "$1" "$2" 'select count(*) from pg_stat_replication')" = 0 ] || break; sleep 0.1; done
barman -q switch-wal --force --archive --archive-timeout 60 state-db
