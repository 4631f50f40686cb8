#!/bin/sh
# What a host has of Docker, by what is there and answers, whoever installed it. Sent with docker-root.sh before it. A line for each:
#   snap                  Docker as a snap is installed
#   no apparmor_parser    the kernel has AppArmor, and the program that loads its profiles is not there
#   rootless USER         an engine without root runs, or is set up, for this user
#   running               the system's own engine runs
#   engine PACKAGE        the program and the unit of the system's own engine; the package is empty if none has installed it
#   userns                that engine gives containers users of their own
#   no way out            that engine makes no rules for packets, and nobody else masquerades what containers send
#   client
#   compose 2             the plugin of docker answers
#   compose 1             the program docker-compose answers or is of a whole package, and the engine still takes its requests
#   not docker WORDS      what another program answers that is called docker
if [ -e /snap/docker/current ] || [ -e /etc/systemd/system/snap.docker.dockerd.service ]; then echo snap; fi

# An engine asks the kernel alone, in the same two files.
if [ -e /sys/kernel/security/apparmor ] && grep -qs Y /sys/module/apparmor/parameters/enabled && ! command -v apparmor_parser >/dev/null; then
  echo 'no apparmor_parser'
fi

{
  for comm in /proc/[0-9]*/comm; do
    read -r name 2>/dev/null <"$comm" || continue
    [ "$name" = dockerd ] || continue
    user=$(sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "${comm%comm}status" 2>/dev/null)
    # A user without a name is that of a container with an engine inside.
    [ "${user:-0}" = 0 ] || id -nu "$user" 2>/dev/null || continue
  done
  for unit in /root/.config/systemd/user/docker.service /home/*/.config/systemd/user/docker.service; do
    if [ -e "$unit" ]; then stat -c %U "$unit"; fi
  done
} | sort -u | sed 's/^/rootless /'

engine=$(command -v dockerd) && [ "$(systemctl show --property LoadState --value docker.service)" != not-found ] || engine=
if systemctl is-active --quiet docker.service; then echo running; active=1; else active=; fi
if [ "$engine" ]; then
  echo "engine $(dpkg-query --search "$(readlink -f "$engine")" 2>/dev/null | sed -n '1s/:.*//p')"
  [ -z "$(dockerd_setting userns-remap)" ] || echo userns
  if [ "$(dockerd_setting iptables)" = false ]; then
    { iptables-save -t nat; nft list ruleset; } 2>/dev/null | grep -qiE 'masquerade|snat' || echo 'no way out'
  fi
fi

command -v docker >/dev/null || exit 0
said=$(docker --version 2>&1)
case $said in
  'Docker version '*) echo client ;;
  *)
    printf 'not docker %s\n' "$(printf '%s\n' "$said" | tail -n 1)"
    exit 0
    ;;
esac
# With --short no other check takes it for the beginning of a start.
if docker compose version --short >/dev/null 2>&1; then
  echo compose 2
# Of a whole package it is known without a start of Python, which takes a quarter of a second.
elif [ "$(dpkg-query --show --showformat '${db:Status-Status}' docker-compose 2>/dev/null)" = installed ] && [ -x /usr/bin/docker-compose ] ||
  docker-compose version --short >/dev/null 2>&1; then
  # Version 1 speaks version 1.30 of the API for files of format 3.5, which Docker 29 no longer takes. A stopped engine is not asked: its
  # socket would start it.
  least=
  [ -z "$active" ] || least=$(docker version --format '{{.Server.MinAPIVersion}}' 2>/dev/null)
  case $least in 1.3[1-9] | 1.[4-9]? | 1.[1-9]??) ;; *) echo compose 1 ;; esac
fi
