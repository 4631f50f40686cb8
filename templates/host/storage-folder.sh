#!/bin/sh
# A function that lists all of a folder in an S3-compatible storage. It is put before the scripts that use it, after those of fetch.sh.

# Prints the names below a folder, without that of the folder, and the bytes of each. Arguments: name of the folder for messages, URL of its
# bucket, the folder in it with / at its end
# Result: 0; 1 with the reason on standard error
list_folder() {
  l_after=''
  l_prefix=$(printf '%s' "$3" | sed 's/\//%2F/g')
  while :; do
    # The storage signs them in this order.
    l_asked=$(ask "$2?list-type=2&max-keys=1000&prefix=$l_prefix${l_after:+&start-after=$l_after}" --include --max-time 120 \
      --retry 3 --write-out '\n%{http_code}' 2>&1)
    l_status=$(printf '%s\n' "$l_asked" | tail -n 1)
    case $l_status in
      2*) ;;
      000) unanswered "$1" "$2" "$l_asked" >&2; return 1 ;;
      *) refused_by_storage "$1" "$l_status" "$l_asked" >&2; return 1 ;;
    esac
    l_names=$(printf '%s' "$l_asked" | tr -d '\r\n' | sed 's/<Contents>/\n/g' |
      sed -n '2,$s/.*<Key>\([^<]*\)<\/Key>.*<Size>\([0-9]*\)<.*/\1 \2/p')
    if [ -n "$l_names" ]; then
      # The disk may be full.
      printf '%s\n' "$l_names" | awk -v length_of="${#3}" '{ print substr($0, length_of + 1) }' ||
        { echo "$1: there is no room for its list of names" >&2; return 1; }
    fi
    case $l_asked in *'<IsTruncated>true<'*) ;; *) return 0 ;; esac
    l_after=$(printf '%s\n' "$l_names" | sed -n '$s/ [0-9]*$//p' | sed 's/\//%2F/g')
    [ -n "$l_after" ] || { echo "$1: the storage ends its list of names early" >&2; return 1; }
  done
}
