#!/bin/sh
# Prints the names that an S3-compatible storage has in a folder, and changes nothing. Where the storage refuses it prints why, and what to
# do, on standard error. The functions of fetch.sh are before this text.
#
# Standard input: settings of curl that sign the request.
# Arguments: name of the folder for messages, URL of its bucket, folder in it with %2F between its names and at its end, time limit in
# seconds, the key of the inventory that names the storage
# shellcheck disable=SC2034 # of fetch.sh
STORAGE=$5
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(cat)
command -v curl >/dev/null || { echo 'curl is not installed' >&2; exit 3; }
can_sign >&2 || exit 1
asked=$(ask "$2?list-type=2&max-keys=1000&prefix=$3" --include --max-time "$4" --write-out '\n%{http_code}' 2>&1)
status=$(printf '%s\n' "$asked" | tail -n 1)
case $status in
  2*) printf '%s' "$asked" | tr -d '\r\n' | sed 's/<Key>/\n/g' | sed -n '2,$s/<\/Key>.*//p' | sed 's/.*\///' ;;
  000)
    unanswered "$1" "$2" "$asked" >&2
    exit 1 ;;
  *) refused_by_storage "$1" "$status" "$asked" >&2; exit 1 ;;
esac
