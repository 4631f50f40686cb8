#!/bin/sh
# Sends a snapshot from a folder of this host to a folder in an S3-compatible storage, and removes it here. The manifest goes last: files
# without it are not a snapshot. It may be killed at any moment: the next run goes on at the part of a file that was under way. The functions
# of fetch.sh and send.sh are before this text.
#
# A file goes in parts, each with its SHA-256 in the signature, so that the storage refuses one that changed on its way. In FOLDER/.upload are,
# for each file, the id of its upload and the parts that the storage has.
#
# Settings:
#   FOLDER       with the snapshot, and nothing else
#   URL, SHOWN   of the folder in the storage, with / at its end; and its name in messages
#   KEYS         file with settings of curl that sign requests
#   CONNECTIONS  how many files, or parts of one, are sent at the same time
#   PART         bytes of a part
set -u
umask 077
export LC_ALL=C
fail() { printf '%s\n' "$*" >&2; exit 1; }
notes=$FOLDER/.upload
# The storage takes at most 10000 parts of a file.
most_parts=9000

# Sets $found to SHA-256 and bytes of what the storage has under a name: empty where it has none, unknown where it does not say. Argument: file
look_up() {
  answer=$(ask "$URL$1" --head --max-time 60 2>/dev/null)
  # A proxy answers before the storage.
  case $(printf '%s\n' "$answer" | awk 'toupper($1) ~ /^HTTP\// { status = $2 } END { print status }') in
    200) found="$(printf '%s\n' "$answer" | header x-amz-meta-sha256) $(printf '%s\n' "$answer" | header content-length)" ;;
    404) found= ;;
    *) found=unknown ;;
  esac
}

# Another host may send a snapshot to the same folder: nothing of that is replaced. Arguments: file, its SHA-256 and bytes
refuse_another() {
  look_up "$1"
  case $found in '' | "$2" | unknown) return ;; esac
  fail "$SHOWN$1 is of another snapshot, and stays: send this one to another folder. What is here stays in $FOLDER"
}

# Sends parts that nobody sends. Arguments: file, bytes of a part, parts, number of the worker
send_parts() {
  ANSWERS=$work/$4
  mkdir -p "$ANSWERS"
  part=0
  while [ "$part" -lt "$3" ]; do
    part=$((part + 1))
    if grep -q "^$part " "$notes/$1.parts"; then continue; fi
    if [ -e "$work/failed" ]; then return 1; fi
    mkdir "$work/part-$part" 2>/dev/null || continue
    dd if="$FOLDER/$1" of="$ANSWERS/part" bs=1M iflag=skip_bytes,count_bytes skip=$(((part - 1) * $2)) count="$2" status=none ||
      { : >"$work/failed"; echo "$FOLDER/$1 cannot be read, or there is no room for temporary files" >&2; return 1; }
    sum=$(sha256sum <"$ANSWERS/part" | cut -d' ' -f1)
    request "$SHOWN$1" "$URL$1?partNumber=$part&uploadId=$upload" PUT "$ANSWERS/part" "$sum" 2>"$ANSWERS/said"
    result=$?
    if [ "$result" != 0 ]; then
      mkdir "$work/failed" 2>/dev/null && cat "$ANSWERS/said" >&2
      return "$result"
    fi
    echo "$part $(header etag <"$ANSWERS/answer")" >>"$notes/$1.parts"
  done
}

# Sends a file. Arguments: file, SHA-256, bytes
send_file() {
  refuse_another "$1" "$2 $3"
  if [ "$found" = "$2 $3" ]; then return 0; fi
  # What the storage gets is the only copy in the end.
  found=$(sha256sum "$FOLDER/$1" | cut -d' ' -f1)
  [ -n "$found" ] || fail "$FOLDER/$1 cannot be read"
  [ "$found" = "$2" ] ||
    fail "$FOLDER/$1 has changed since the snapshot was taken: SHA-256 $found, wanted $2. Remove $FOLDER, and take the snapshot into another folder"
  rm -rf "$work"/part-* "$work/failed"
  # shellcheck disable=SC2153 # a setting
  size=$PART
  if [ $(($3 / size)) -ge "$most_parts" ]; then size=$(($3 / most_parts + 1)); fi
  upload=$(cat "$notes/$1.id" 2>/dev/null)
  if [ -z "$upload" ]; then
    request "$SHOWN$1" "$URL$1?uploads=" POST '' '' --header "x-amz-meta-sha256: $2" || return 1
    # shellcheck disable=SC2154 # of send.sh
    upload=$(element UploadId "$f_answer")
    : >"$notes/$1.parts"
    echo "$upload" >"$notes/$1.id.new" && mv "$notes/$1.id.new" "$notes/$1.id" || return 1
  fi
  parts=$((($3 + size - 1) / size))
  workers=
  for each in $(seq "$CONNECTIONS"); do
    send_parts "$1" "$size" "$parts" "$each" &
    workers="$workers $!"
  done
  ended=0
  for each in $workers; do
    wait "$each" || { result=$?; [ "$ended" = 2 ] || ended=$result; }
  done
  if [ "$ended" = 0 ]; then
    # The upload took its time.
    refuse_another "$1" "$2 $3"
    end_upload "$1"
    ended=$?
  fi
  # The storage has forgotten it.
  if [ "$ended" = 2 ]; then rm -f "$notes/$1".*; fi
  return "$ended"
}

# Makes one file of the parts that the storage has. Argument: file
end_upload() {
  {
    echo '<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    # The last line of a part counts.
    sort -n -k1,1 -s "$notes/$1.parts" | awk '{ tag[$1] = $2; if (!($1 in seen)) order[++n] = $1; seen[$1] = 1 }
      END { for (i = 1; i <= n; i++) printf "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>\n", order[i], tag[order[i]] }'
    echo '</CompleteMultipartUpload>'
  } >"$work/parts"
  request "$SHOWN$1" "$URL$1?uploadId=$upload" POST '' "$(sha256sum <"$work/parts" | cut -d' ' -f1)" \
    --header 'Content-Type: application/xml' --data-binary "@$work/parts"
}

trap 'rm -f "$KEYS"' EXIT
trap 'exit 1' TERM INT
# shellcheck disable=SC2034 # of fetch.sh
SIGNING=$(cat "$KEYS") || fail 'the keys of the storage are not there any more: run it again'
can_sign >&2 || exit 1
# Of a run that was killed when all was sent.
rm -rf "$FOLDER.sent"
[ -e "$FOLDER" ] || exit 0
[ -e "$FOLDER/manifest.json" ] || fail "$FOLDER holds no snapshot"
mkdir -p "$notes" || fail "$notes cannot be made"
work=$(mktemp -d -p "$notes") || fail "there is no room in $FOLDER"
trap 'rm -rf "$work" "$KEYS"' EXIT
ANSWERS=$work/0
mkdir "$ANSWERS"
grep -o '"file": "[^"]*", "sha256": "[0-9a-f]*", "bytes": [0-9]*' "$FOLDER/manifest.json" |
  sed 's/"file": "\([^"]*\)", "sha256": "\([0-9a-f]*\)", "bytes": /\1 \2 /' >"$work/files"
[ -s "$work/files" ] || fail "$FOLDER/manifest.json names no files"
manifest="$(sha256sum <"$FOLDER/manifest.json" | cut -d' ' -f1) $(stat -c %s "$FOLDER/manifest.json")"
refuse_another manifest.json "$manifest"
while read -r file sum bytes; do
  for again in yes no; do
    send_file "$file" "$sum" "$bytes" </dev/null && break
    result=$?
    if [ "$result" != 2 ] || [ "$again" = no ]; then fail "$SHOWN$file is not sent. The next run goes on"; fi
  done
done <"$work/files"
while read -r file sum bytes; do
  for again in 1 2 3; do
    look_up "$file"
    [ "$found" = unknown ] || break
    sleep "$again"
  done
  [ "$found" != unknown ] || fail "the storage does not say whether it has $SHOWN$file. The next run goes on"
  [ "$found" = "$sum $bytes" ] || fail "$SHOWN$file is not in the storage as it was sent"
done <"$work/files"
refuse_another manifest.json "$manifest"
request "${SHOWN}manifest.json" "${URL}manifest.json" PUT "$FOLDER/manifest.json" "${manifest% *}" --header 'Content-Type: application/json' \
  --header "x-amz-meta-sha256: ${manifest% *}" || exit 1
mv "$FOLDER" "$FOLDER.sent" && rm -rf "$FOLDER.sent"
echo "the snapshot is in $SHOWN"
