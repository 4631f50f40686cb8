#!/bin/sh
# Prints a name of write-ahead log that the copy in a storage has and a fetch of it (fetch-backup.sh) has not seen: it came since. It prints
# nothing where all of it was seen, and changes nothing. The functions of fetch.sh and storage-folder.sh are before this text.
#
# Standard input: settings of curl that sign requests
# Arguments: folder of the fetch, file with the settings of send-backup.sh
set -u
export LC_ALL=C
# shellcheck disable=SC2034 # of fetch.sh
STORAGE=backup.s3
# shellcheck source=/dev/null
. "$2" && cd "$1" || exit 1
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(cat)
can_sign >&2 || exit 1
source=$(cat source) || exit 1
repository=${source#"$SHOWN"}
case $source,$repository in
  "$SHOWN"*,*[!0-9a-f/]*) echo "$1/source names no folder of a repository" >&2; exit 1 ;;
  "$SHOWN"*) ;;
  *) echo "what was fetched is not of $SHOWN" >&2; exit 1 ;;
esac
listed=$(list_folder "$SHOWN" "$BUCKET" "$PREFIX$repository") || exit 1
# Of the version before, which did not keep what it saw.
[ -e seen ] || { echo log; exit; }
printf '%s\n' "$listed" | log_names '' | comm -23 - seen | head -n 1
