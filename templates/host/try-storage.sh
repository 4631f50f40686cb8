#!/bin/sh
# Proves that the storage takes a snapshot, before one is taken. It is put before the script that takes it, after the functions of fetch.sh
# and send.sh.
#
# Settings:
#   KEYS         file with settings of curl that sign requests. It is removed at once
#   URL, SHOWN   of the folder in the storage, with / at its end; and its name in messages
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(cat "$KEYS") || { echo 'the keys of the storage are not there any more: run it again' >&2; exit 1; }
# What is put after this may take hours, or fail.
rm -f "$KEYS"
can_sign >&2 || exit 1
ANSWERS=$(mktemp -d) || exit 1
try_storage "${SHOWN}manifest.json" "${URL}manifest.json"
tried=$?
rm -rf "$ANSWERS"
[ "$tried" = 0 ] || exit 1
SIGNING=
