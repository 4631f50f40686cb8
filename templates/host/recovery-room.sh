#!/bin/sh
# Prints how many bytes the recovered files on the backup host have, and how many have room on the file system of the data directory. The
# functions of data-place.sh are before this text. It only reads.
#
# Arguments: the address of the files, the file with the password, the data directory
set -u
export LC_ALL=C
said=$(rsync --recursive --dry-run --stats --no-human-readable --contimeout=30 --timeout=60 --password-file="$2" "$1" "$3") || exit
echo "$(printf '%s\n' "$said" | sed -n 's/^Total file size: \([0-9]*\).*/\1/p') $(room_for_copy "$3")"
