#!/bin/sh
# Asks an S3-compatible storage for the first bytes of a file, and changes nothing. Prints the answer with its headers. Where the storage
# refuses it prints nothing, and on standard error why, and what to do. Without curl it prints `connected`. The functions of fetch.sh are before this text.
#
# Standard input: settings of curl that sign the request.
# Arguments: name of the file for messages, its URL, bytes, time limit in seconds
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(cat)
command -v curl >/dev/null || { echo connected; exit; }
can_sign >&2 || exit 1
# Its status first: what follows goes out as it is.
asked=$(ask "$2" --head --output /dev/null --max-time "$4" --write-out '\n%{http_code}' 2>&1)
status=$(printf '%s\n' "$asked" | tail -n 1)
case $status in
  2*) ask "$2" --include --range "0-$(($3 - 1))" --max-time "$4" ;;
  000)
    unanswered "$1" "$2" "$asked" >&2
    exit 1 ;;
  *) refused "$1" "$2" "$status" >&2; exit 1 ;;
esac
