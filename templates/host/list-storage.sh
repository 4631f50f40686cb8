#!/bin/sh
# Prints the bytes and the name of each file in a folder of an S3-compatible storage, 1000 at most, and changes nothing. A file in a folder of
# that folder has both in its name. Where the storage refuses it prints why, and what to do, on standard error. The functions of fetch.sh and
# storage-folder.sh are before this text.
#
# Standard input: settings of curl that sign the request.
# Arguments: name of the folder for messages, URL of its bucket, folder in it with / at its end, time limit in seconds, the key of the
# inventory that names the storage
# shellcheck disable=SC2034 # of fetch.sh
STORAGE=$5
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(cat)
command -v curl >/dev/null || { echo 'curl is not installed' >&2; exit 3; }
can_sign >&2 || exit 1
list_page "$1" "$2" "$3" '' "$4" || exit 1
# shellcheck disable=SC2154 # of storage-folder.sh
printf '%s\n' "$l_names" | awk -v length_of="${#3}" '{ print substr($0, length_of + 1) }' | sed -n 's/^\(..*\) \([0-9]*\)$/\2 \1/p'
