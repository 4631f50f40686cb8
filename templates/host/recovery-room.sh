#!/bin/sh
# Prints how many bytes a recovery takes, and how many have room on the file system of the data directory. The functions of data-place.sh
# are before this text. It only reads.
#
# Arguments: the address of the offer, the file with the password, the data directory, the program that encrypts the connection or nothing
set -u
export LC_ALL=C
[ -z "$4" ] || export RSYNC_CONNECT_PROG="$4"
# The offer has a file of that length.
said=$(rsync --list-only --no-human-readable --contimeout=30 --timeout=60 --password-file="$2" "$1/room") || exit
echo "$(printf '%s\n' "$said" | awk '{ gsub(/,/, "", $2); print $2 }') $(room_for_copy "$3")"
