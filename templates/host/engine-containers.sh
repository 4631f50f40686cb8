#!/bin/sh
# Containers and the Docker engine: run by docker.service. Argument: a folder in /run, and one of
#   begin  before the engine starts: notes the time
#   start  after its start: starts what the engine itself has just stopped. After it was killed, an engine without live-restore stops all
#          containers at its next start, and counts them as stopped by hand. What somebody stopped before stays stopped
#   resume BEGAN READY  starts what stopped between the two times: nobody else can stop a container then, as the engine does not answer
#   note   before the engine stops: notes what runs, when the whole host stops, or with --all
#   stop   after the engine has stopped: ends what was noted and still runs, as an engine with live-restore leaves it running. Each gets
#          the signal and the time that the engine would give it. Without the engine they do not count as stopped by hand
set -u
export LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

folder=$1
mkdir -p "$folder"

now() { date -u +%Y-%m-%dT%H:%M:%S.%N; }

case $2 in
  begin) now > "$folder/began" ;;

  start)
    # In a unit of its own: the engine may be killed again meanwhile, and systemd would not start it before this has ended.
    [ ! -s "$folder/began" ] || systemd-run --quiet --no-block --collect "$0" "$folder" resume "$(cat "$folder/began")" "$(now)"
    ;;

  resume)
    docker ps --all --quiet --no-trunc --filter status=exited |
      xargs -r docker inspect --format '{{.HostConfig.RestartPolicy.Name}} {{.State.FinishedAt}} {{.Id}}' |
      awk -v began="$3" -v ready="$4" '$1 == "unless-stopped" && $2 > began && $2 < ready { print $3 }' |
      xargs -r docker start
    ;;

  note)
    rm -f "$folder/running"
    [ "${3-}" = --all ] || [ "$(systemctl is-system-running)" = stopping ] || exit 0
    timeout 20 docker ps --quiet --no-trunc |
      xargs -r timeout 20 docker inspect --format '{{.State.Pid}} {{with index .Config "StopSignal"}}{{.}}{{else}}SIGTERM{{end}} {{with index .Config "StopTimeout"}}{{.}}{{else}}10{{end}} {{.Id}}' \
        > "$folder/running"
    ;;

  stop)
    [ -s "$folder/running" ] || exit 0
    # The number may be another process's by now.
    while read -r pid signal patience id; do
      grep -q "$id" "/proc/$pid/cgroup" 2>/dev/null || continue
      # One that may take any time gets what the engine as a whole has.
      [ "$patience" -ge 0 ] || patience=120
      kill -s "${signal#SIG}" "$pid" 2>/dev/null || true
      (
        waited=0
        while [ -e "/proc/$pid" ] && [ "$waited" -lt $((patience * 10)) ]; do
          sleep 0.1
          waited=$((waited + 1))
        done
        [ ! -e "/proc/$pid" ] || kill -s KILL "$pid" 2>/dev/null
      ) &
    done < "$folder/running"
    wait
    rm -f "$folder/running"
    ;;
esac
