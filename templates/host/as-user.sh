#!/bin/sh
# A function that runs a command as another user, with that user's HOME. runuser would also set limits by PAM, which fails in a sandbox.
# This file is sent in front of each script that calls the function.
as_user() (
  user=$1
  shift
  home=$(getent passwd "$user" | cut -d: -f6)
  exec env HOME="$home" USER="$user" LOGNAME="$user" setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups -- "$@"
)
