#!/bin/sh
# Moves the data of the Docker engine to another disk. Run as a transient systemd unit, so that it outlives the connection.
#
# It may be killed at any moment: the next run finishes the work. The old data is never changed or removed.
# The folder $state, a setting in the environment or assigned before this text, has the input. As long as a move is
# unfinished, it has the file `from`:
#   from, to      the folders
#   mount         where the disk of the new one is mounted
#   settings.new  the new /etc/docker/daemon.json
# and, created here:
#   settings.old  the old one; empty if there was none
#   running       containers to start again
#   held          content of the engine: driver and number of images
#   empty         exists if the engine was empty
#   phase         the current step, in words
#   old-copy      after a move: where the old data still is
#   engine        containers to end after the engine
#   copy          the folder that was created here for the copy: only in this one and in the next is anything ever removed
#   trial         a folder beside it, in which overlay file systems were tried
#   without-disk  files that the engine created below the mount point without its disk; moved here, they hold nobody's data
set -eu
umask 077
: "${state:?}"
export LC_ALL=C

settings=/etc/docker/daemon.json
# Of the role docker; absent where an engine was there before it.
containers=/usr/local/lib/$(basename "$(dirname "$state")")/engine-containers

# "from" last: without it no move is unfinished. "to" before it: a move with only "from" left is over.
forget() {
  rm -f "$state/settings.old" "$state/settings.new" "$state/running" "$state/held" "$state/empty" \
    "$state/needed" "$state/free" "$state/phase"
  rm -rf "$state/engine"
  rm -f "$state/to"
  rm -f "$state/mount" "$state/from"
}

[ -e "$state/from" ] || exit 0
if [ ! -e "$state/to" ]; then forget; exit 0; fi
from=$(cat "$state/from")
to=$(cat "$state/to")
mount=$(cat "$state/mount")
began=$(date +%s)
if [ -e "$settings" ]; then settings=$(readlink -f "$settings"); fi

phase() { echo "$1"; printf '%s\n' "$1" > "$state/phase"; }
fail() { echo "$1" >&2; exit 1; }
is_active() { systemctl is-active --quiet docker.service; }
is_switched() { grep -qF "\"data-root\": \"$to\"" "$settings" 2>/dev/null; }
root_now() { docker info --format '{{.DockerRootDir}}' 2>/dev/null; }
holds() { docker info --format '{{.Driver}}, {{.Images}} images' 2>/dev/null; }
# By number and birth time, which identify the folder.
identity() { stat -c '%i %W' "$to" 2>/dev/null; }
is_ours() { [ -e "$state/copy" ] && [ "$(identity)" = "$(cat "$state/copy")" ]; }
# The disk is gone: the mount point is then a folder of another disk.
is_disk_there() { [ "$(stat -L -c %m "$(dirname "$to")" 2>/dev/null)" = "$mount" ]; }
need_disk() { is_disk_there || fail "no disk is mounted at $mount any more"; }
is_empty() { [ -z "$(find "$to" -mindepth 1 -maxdepth 1 -print -quit 2>/dev/null)" ]; }
put_settings() { cp "$1" "$settings.new" && chmod 0644 "$settings.new" && sync "$settings.new" && mv "$settings.new" "$settings"; }

start_engine() {
  # A plain unmask would also lift a mask that somebody made for good.
  systemctl unmask --runtime --quiet docker.service docker.socket
  systemctl reset-failed docker.service docker.socket 2>/dev/null || :
  systemctl start docker.service
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    if root_now >/dev/null; then return 0; fi
    sleep 1
  done
  return 1
}

# With live-restore they keep running without the engine. Ended without it, they do not count as stopped by hand: after a reboot in the
# middle of a move they start from the old folder. The list is kept until all of them have ended.
note_containers() {
  [ "$(docker info --format '{{.LiveRestoreEnabled}}')" = true ] || return 0
  if [ -x "$containers" ]; then "$containers" "$state/engine" note --all; return; fi
  # shellcheck disable=SC2046 # ids
  [ ! -s "$state/running" ] || docker stop --time 120 $(cat "$state/running") >/dev/null
}
end_containers() {
  [ ! -x "$containers" ] || "$containers" "$state/engine" stop
}

# Those with a restart policy start by themselves; the others have to be started.
start_containers() {
  not_started=
  [ -e "$state/running" ] || return 0
  while read -r id; do
    # A container that removes itself when it stops is gone.
    running=$(docker inspect --format '{{.State.Running}}' "$id" 2>/dev/null) || continue
    [ "$running" = true ] || docker start "$id" >/dev/null || not_started="$not_started $id"
  done < "$state/running"
}

# An engine that started while its disk was missing has created its folder below the mount point, so that the disk could not be
# mounted again. Only files that are newer than this move, which can hold nothing else.
clear_mount_point() {
  if is_disk_there || [ ! -d "$to" ] || [ "$(root_now)" = "$to" ]; then return 0; fi
  if [ "$(stat -c %W "$to")" -ge "$began" ]; then mv "$to" "$state/without-disk.$began"; fi
}

# After any error the engine runs again from its old folder.
put_back() {
  code=$?
  trap - EXIT
  [ "$code" -ne 0 ] || exit 0
  set +e
  if is_switched && [ -e "$state/settings.old" ]; then
    systemctl stop docker.socket docker.service 2>/dev/null
    if [ -s "$state/settings.old" ]; then put_settings "$state/settings.old"; else rm -f "$settings"; fi
  fi
  if is_switched; then
    # Without its disk the engine would start empty, on another disk.
    if is_disk_there; then start_engine; fi
    echo 'fix the cause first: see systemctl status docker' >&2
  elif start_engine; then
    start_containers
    clear_mount_point
    forget
    echo "docker runs from $from as before; nothing was lost" >&2
  else
    echo "docker does not start from $from either: see systemctl status docker" >&2
  fi
  exit "$code"
}
trap put_back EXIT
trap 'exit 143' HUP INT TERM

copy() {
  # From inside the new folder: by its name, a copy could go to the disk below when this one goes away.
  cd "$to"
  need_disk
  # Hard links, ACLs, extended attributes (including the overlay's own), holes; nothing of other file systems.
  rsync --archive --hard-links --acls --xattrs --sparse --numeric-ids --one-file-system --delete --exclude=/lost+found "$@" "$from/" ./
  cd /
}

forget_trial() {
  [ -e "$state/trial" ] || return 0
  trial=$(cat "$state/trial")
  ! mountpoint -q "$trial/merged" || umount "$trial/merged"
  rm -rf "$trial"
  rm -f "$state/trial"
}

# What containers do with their files, on the new disk: a program runs, and a file of an image goes.
try_overlay() {
  [ "$(docker info --format '{{.Driver}}')" = overlay2 ] || return 0
  phase 'trying overlay file systems on the new disk'
  forget_trial
  trial=$(mktemp -u "$(dirname "$to")/.docker-root-trial.XXXXXX")
  printf '%s\n' "$trial" > "$state/trial"
  mkdir -p "$trial/lower" "$trial/upper" "$trial/work" "$trial/merged"
  printf '#!/bin/sh\n' > "$trial/lower/run"
  chmod 0755 "$trial/lower/run"
  said=$( {
    mount -t overlay overlay -o "lowerdir=$trial/lower,upperdir=$trial/upper,workdir=$trial/work" "$trial/merged" &&
      "$trial/merged/run" && rm "$trial/merged/run" && [ -c "$trial/upper/run" ]
  } 2>&1) && works=1 || works=
  forget_trial
  [ "$works" ] || fail "docker cannot work on the disk of $to, as overlay file systems do not: $said"
}

move() {
  is_empty || is_ours || fail "$to, which is to hold the data of docker, holds other data"
  if is_active; then
    # Before anything is stopped. Files of running containers may disappear meanwhile.
    phase 'measuring the data of docker'
    needed=$(du -sx -B1 "$from" 2>/dev/null | cut -f1)
    there=$( (du -sx -B1 "$to" 2>/dev/null || echo 0) | cut -f1)
    free=$(df -P -B1 "$(dirname "$to")" | sed -n '$s/.* \([0-9][0-9]*\)  *[0-9]*% .*/\1/p')
    # A twentieth in reserve: the new file system may need more space for small files.
    if [ $((needed + needed / 20)) -gt $((free + there)) ]; then
      fail "there is no room for it: the data of docker takes $((needed / 1000000)) MB, and $((free / 1000000)) MB are free for $to"
    fi
    printf '%s\n' "$needed" > "$state/needed"
    printf '%s\n' "$free" > "$state/free"
    files=$(du -sx --inodes "$from" 2>/dev/null | cut -f1)
    files_there=$( (du -sx --inodes "$to" 2>/dev/null || echo 0) | cut -f1)
    limits=$(df -P -i "$(dirname "$to")" | awk 'END { print $2, $4 }')
    # Some file systems have no limit of files: 0, or a dash.
    case ${limits% *} in
      0 | '' | *[!0-9]*) ;;
      *)
        [ $((files + files / 20)) -le $((${limits#* } + files_there)) ] ||
          fail "there is no room for it: the data of docker are $files files, and ${limits#* } more have room at $to"
        ;;
    esac
    try_overlay

    docker ps --quiet --no-trunc > "$state/running.new"
    mv "$state/running.new" "$state/running"
    holds > "$state/held"
    rm -f "$state/empty"
    case $(cat "$state/held") in *', 0 images') [ -n "$(docker volume ls --quiet)" ] || : > "$state/empty" ;; esac

    phase 'stopping docker'
    # Nothing may start it meanwhile. In memory only: a reboot ends the move, and the engine starts from its old folder.
    systemctl mask --runtime --quiet docker.service docker.socket
    note_containers
    systemctl stop docker.socket docker.service
    end_containers
  else
    systemctl mask --runtime --quiet docker.service docker.socket
    systemctl stop docker.socket 2>/dev/null || :
    # A killed run may have stopped the engine, and not the containers.
    end_containers
  fi

  # Mounts of the engine have no data of their own. A disk that somebody mounted there has, and would stay behind.
  below=$(awk -v from="$from/" 'index($2, from) == 1 { print $3, $2 }' /proc/self/mounts | sort -r)
  printf '%s\n' "$below" | while read -r type target; do
    case $type in
      '') ;;
      overlay | tmpfs | nsfs) umount "$target" ;;
      *) fail "a $type file system is mounted at $target; unmount it, or move it by hand" ;;
    esac
  done

  phase 'copying the data of docker'
  need_disk
  if ! is_ours; then
    mkdir -p "$to"
    identity > "$state/copy"
  fi
  copy
  need_disk
  sync -f "$to"

  phase 'comparing the copy with the data of docker'
  different=$(copy --dry-run --checksum --itemize-changes)
  [ -z "$different" ] || fail "the copy differs from the data of docker:
$(printf '%s\n' "$different" | head -n 5)"

  need_disk

  phase "switching docker to $to"
  if [ ! -e "$state/settings.old" ]; then
    cat "$settings" > "$state/settings.now" 2>/dev/null || :
    mv "$state/settings.now" "$state/settings.old"
  fi
  mkdir -p "$(dirname "$settings")"
  put_settings "$state/settings.new"
}

if { is_active && [ "$(root_now)" = "$to" ]; } || { ! is_active && is_switched; }; then
  phase 'finishing the move'
  # The engine may have worked there since: going back would lose that.
  rm -f "$state/settings.old" "$state/held"
else
  move
fi

phase "starting docker from $to"
need_disk
started=$(date +%s)
# Its own words: those of systemd about it say only that it failed too often.
start_engine || fail "docker does not start from $to: $(
  journalctl --quiet --no-pager --output=cat --since="@$started" _SYSTEMD_UNIT=docker.service | tail -n 3)"
now=$(root_now)
[ "$now" = "$to" ] || fail "docker keeps its data in $now instead of $to"
if [ -s "$state/held" ] && [ "$(holds)" != "$(cat "$state/held")" ]; then
  fail "docker holds $(holds) after the move, and $(cat "$state/held") before it"
fi
# The move is done; later errors are no reason to go back.
trap - EXIT HUP INT TERM
start_containers

# An empty engine leaves nothing that is worth a message.
[ -e "$state/empty" ] || printf '%s\n' "$from" > "$state/old-copy"
rm -f "$state/copy"
forget_trial
forget
[ -z "$not_started" ] || fail "docker keeps its data in $to now, but these containers did not start again:$not_started"
echo "docker keeps its data in $to now; the old copy in $from may be removed"
