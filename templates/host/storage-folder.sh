#!/bin/sh
# Functions that list a folder in an S3-compatible storage. They are put before the scripts that use them, after those of fetch.sh.

# Asks for the names of a folder, 1000 at most. Sets $l_asked to the answer, and $l_names to lines with a name and its bytes.
# Arguments: name of the folder for messages, URL of its bucket, the folder in it with / at its end, the name after which the list begins or
# nothing, time limit in seconds, more options of curl
# Result: 0; 1 with the reason on standard error
list_page() {
  l_folder=$1 l_bucket=$2
  # The storage signs them in this order.
  l_url="$2?list-type=2&max-keys=1000&prefix=$(escape_slashes "$3")${4:+&start-after=$(escape_slashes "$4")}" l_seconds=$5
  shift 5
  l_asked=$(ask "$l_url" --include --max-time "$l_seconds" --write-out '\n%{http_code}' "$@" 2>&1)
  l_status=$(printf '%s\n' "$l_asked" | tail -n 1)
  case $l_status in
    2*) ;;
    000) unanswered "$l_folder" "$l_bucket" "$l_asked" >&2; return 1 ;;
    *) refused_by_storage "$l_folder" "$l_status" "$l_asked" >&2; return 1 ;;
  esac
  l_names=$(printf '%s' "$l_asked" | tr -d '\r\n' | sed 's/<Contents>/\n/g' |
    sed -n '2,$s/.*<Key>\([^<]*\)<\/Key>.*<Size>\([0-9]*\)<.*/\1 \2/p')
}

escape_slashes() { printf '%s' "$1" | sed 's/\//%2F/g'; }

# Prints the names of the write-ahead log in a copy of backups, without the times of their arrival. Standard input: lines of list_folder.
# Argument: the folder of the repository with / at its end, or nothing
log_names() { sed -n "s|^$1log/\([0-9A-F]*\(\.history\)\{0,1\}\)\..*|\1|p" | sort -u; }

# Prints the names below a folder, without that of the folder, and the bytes of each. Arguments: as the first three of list_page
# Result: 0; 1 with the reason on standard error
list_folder() {
  l_after=''
  while :; do
    list_page "$1" "$2" "$3" "$l_after" 120 --retry 3 || return 1
    if [ -n "$l_names" ]; then
      # The disk may be full.
      printf '%s\n' "$l_names" | awk -v length_of="${#3}" '{ print substr($0, length_of + 1) }' ||
        { echo "$1: there is no room for its list of names" >&2; return 1; }
    fi
    case $l_asked in *'<IsTruncated>true<'*) ;; *) return 0 ;; esac
    l_after=$(printf '%s\n' "$l_names" | sed -n '$s/ [0-9]*$//p')
    [ -n "$l_after" ] || { echo "$1: the storage ends its list of names early" >&2; return 1; }
  done
}
