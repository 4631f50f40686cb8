#!/bin/sh
# A function that runs a command as another user, with that user's HOME. runuser also sets limits, by PAM, and fails where a sandbox does not
# let it. Scripts that call it are sent with this file before them.
as_user() (
  user=$1
  shift
  home=$(getent passwd "$user" | cut -d: -f6)
  exec env HOME="$home" USER="$user" LOGNAME="$user" setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups -- "$@"
)
