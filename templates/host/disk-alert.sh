#!/bin/sh
# Alerts once when a file system fills up, and once when it has room again. Run by a systemd timer.
#
# Settings, from the file given as the first argument:
#   PATHS   folders to watch; each of their file systems is checked once, under its first mount point
#   WARN    alert at this use or above, in per cent
#   CLEAR   clear the alert below this use, in per cent
#   STATE   folder that keeps what was reported
#   WEBHOOK where to POST a message; empty: the journal only
set -u

# shellcheck source=/dev/null
. "$1"
mkdir -p "$STATE" || exit 1
# Of an earlier version, with the address.
rm -f "$STATE/request"
host=$(uname -n)
failed=0

# Escapes text for a JSON string. A curl configuration file has the same quotes.
json() { printf %s "$1" | tr '\000-\037' ' ' | sed 's/[\\"]/\\&/g'; }

# Posts a message: status, mount point, use, text.
post() {
  [ -n "$WEBHOOK" ] || return 0
  printf '{"text":"%s","host":"%s","mount":"%s","status":"%s","used_percent":%s,"warn_percent":%s,"clear_percent":%s}' \
    "$(json "$4")" "$(json "$host")" "$(json "$2")" "$1" "$3" "$WARN" "$CLEAR" |
    # The address may hold a token, so it is not in the argument list. Nor is it in a file: the disk may be full.
    curl --silent --show-error --fail --max-time 20 --header 'Content-Type: application/json' \
      --data-binary @- --output /dev/null --config /dev/fd/3 3<<END
url = "$(json "$WEBHOOK")"
END
}

# The level in a file. On a full disk it has no content.
level_in() { if [ ! -e "$1" ] || grep -qx clear "$1"; then echo clear; else echo alert; fi; }
# Keeps a level. Arguments: file, level
keep() { if [ "$2" = clear ]; then rm -f "$1"; else echo "$2" >"$1"; fi 2>/dev/null; }

umask 077
seen=' '
set -f
for path in $PATHS; do
  # A folder that does not exist yet will be on the file system of its parent.
  while [ ! -e "$path" ]; do path=$(dirname "$path"); done
  # The last columns are use and mount point, and a mount point may hold spaces.
  line=$(df -P "$path" | sed -n '$s/^\([^ ]*\) .* \([0-9][0-9]*\)% \(\/.*\)$/\1 \2 \3/p')
  device=${line%% *}
  line=${line#* }
  used=${line%% *}
  mount=${line#* }
  if [ -z "$used" ]; then
    echo "cannot read the use of $path"
    failed=1
    continue
  fi
  # A file name for the mount point: per cent sign, slash and space as in a URL.
  name=$(printf %s "$mount" | sed 's/%/%25/g; s,/,%2F,g; s/ /%20/g')
  # A disk may be mounted more than once: Docker mounts its data folder onto itself.
  case $device in /dev/*) id=$device ;; *) id=$name ;; esac
  case $seen in *" $id "*) continue ;; esac
  seen="$seen$id "

  # `level` is the current level, `sent` the one that the webhook got last.
  was=$(level_in "$STATE/$name.level")
  sent=$(level_in "$STATE/$name.sent")
  if [ "$used" -ge "$WARN" ]; then level=alert; elif [ "$used" -lt "$CLEAR" ]; then level=clear; else level=$was; fi
  if [ "$level" = alert ]; then
    text="$host: $mount is $used% full (alert from $WARN%)"
  else
    text="$host: $mount is $used% full, there is room again (below $CLEAR%)"
  fi
  if [ "$level" != "$was" ]; then
    echo "$text"
    keep "$STATE/$name.level" "$level"
  fi
  if [ "$level" != "$sent" ]; then
    if post "$level" "$mount" "$used" "$text"; then
      keep "$STATE/$name.sent" "$level"
    else
      echo "the message on $mount could not be posted; it is tried again next time"
      failed=1
    fi
  fi
done
exit $failed
