#!/bin/sh
# Downloads a file, verifies it, and only then puts it in place. It may be killed at any moment: the next run continues. The functions of
# fetch.sh are before this text.
#
# Settings, in the environment or assigned before this text:
#   url          its query may be as good as a password: it is in no argument list, no message and no file that others can read
#   shown        its name in messages
#   path         target path of the file
#   sha256       its SHA-256, in hex
#   connections  as many ranges of the file are fetched at the same time; 1: one stream
#   status       file that shows the phase: `downloading TOTAL` (bytes) or `verifying`
#   KEYS         file with settings of curl that sign requests for a storage; empty for a web server
#
# Files that it creates:
#   PATH.part      the partial file
#   PATH.part.of   how it is fetched, URL and version of the partial file. It is continued in the same way only, and only of the same version
#   PATH.part.got  where ranges are fetched: bytes of each, and the numbers of those that are there, from before the first byte until the file
#                  is complete. While it exists, the length of the partial file means nothing. Without it, only one of full length is useful
#   PATH.verified  SHA-256, size and time of the file that was verified
set -u
: "${url:?}" "${shown:?}" "${path:?}" "${sha256:?}" "${connections:?}" "${status:?}"
directory=$(dirname "$path")
part=$path.part
# For messages of curl and headers.
said=$status.said
# Largest range. Bytes.
largest=67108864

fail() { printf '%s\n' "$*" >&2; exit 1; }
show() { printf '%s\n' "$*" >"$status.new" && mv -f "$status.new" "$status"; }
size_of() { if [ -e "$1" ]; then stat -c %s "$1"; else echo 0; fi; }
sum_of() { show verifying; sha256sum <"$1" | cut -d' ' -f1; }

# As one stream, from the partial file's end.
use_stream() {
  mark='stream '
  held() { size_of "$part"; }
  drop_useless() { :; }
  fetch_all() {
    fetch_file "$shown" "$url" "$total" "$part" "$said/1"
    # A wrong length is no end here: the SHA-256 below refuses the file.
    case $? in 0 | 4) ;; *) exit 1 ;; esac
  }
}

# By ranges.
use_ranges() {
  mark='ranges '
  # Without holes between the ranges.
  held() { if [ -e "$part" ]; then echo $(($(stat -c '%b * %B' "$part"))); else echo 0; fi; }
  drop_useless() {
    case $(head -n 1 "$part.got" 2>/dev/null) in
      '' | *[!0-9]* | 0*) rm -f "$part.got" ;;
    esac
    [ -e "$part.got" ] || [ "$(size_of "$part")" = "$total" ] || rm -f "$part"
    [ -e "$part" ] || rm -f "$part.got"
  }
  fetch_all() {
    if [ ! -e "$part.got" ]; then
      if [ -e "$part" ] || [ "$total" -eq 0 ]; then return 0; fi
      range_size=$(((total / (connections * 8) / 1048576 + 1) * 1048576))
      if [ "$range_size" -gt "$largest" ]; then range_size=$largest; fi
      echo "$range_size" >"$part.got"
      : >"$part"
    fi
    range_size=$(head -n 1 "$part.got")
    tail -n +2 "$part.got" >"$said/got"
    seq 0 $(((total - 1) / range_size)) | grep -vxFf "$said/got" >"$said/missing"
    workers=
    for each in $(seq "$connections"); do
      fetch_ranges "$each" <"$said/missing" &
      workers="$workers $!"
    done
    ended=0
    for each in $workers; do
      wait "$each"
      result=$?
      case $result in 0) ;; *) if [ "$ended" != 3 ]; then ended=$result; fi ;; esac
    done
    case $ended in
      0) rm -f "$part.got" ;;
      3) without_ranges ;;
      *) cat "$said/failed/why" >&2; exit 1 ;;
    esac
  }
}
# Fetches ranges that nobody fetches. Argument: its number. Standard input: numbers of ranges
fetch_ranges() {
  while read -r number; do
    if [ -e "$said/failed" ]; then return 0; fi
    mkdir "$said/range-$number" 2>/dev/null || continue
    from=$((number * range_size))
    size=$range_size
    if [ $((from + size)) -gt "$total" ]; then size=$((total - from)); fi
    fetch "$shown" "$url" "$from" "$size" "$part" "$from" "$said/range-$number" no </dev/null 2>"$said/why-$1"
    result=$?
    if [ "$result" != 0 ]; then
      # One of them says why.
      if mkdir "$said/failed" 2>/dev/null; then mv "$said/why-$1" "$said/failed/why"; fi
      return "$result"
    fi
    echo "$number" >>"$part.got"
    rm -f "$said/range-$number"/*
  done
}
# The server sends whole files only.
without_ranges() {
  rm -rf "$part" "$part.got" "$said"
  mkdir -p "$said"
  use_stream
  write_origin
  fetch_all
}

finish() {
  note
  rm -rf "$part.of" "$part.got" "$status" "$status".*
  exit 0
}
note() { stat -c "$sha256 %s %Y" "$path" >"$path.verified.new" && mv -f "$path.verified.new" "$path.verified"; }
# Writes down what the partial file is of. One of something else is removed.
write_origin() {
  rm -f "$part.of.new"
  (umask 077 && printf '%s\n' "$mark$url $version" >"$part.of.new")
  cmp -s "$part.of.new" "$part.of" || rm -f "$part" "$part.got"
  mv -f "$part.of.new" "$part.of"
}

command -v curl >/dev/null || fail 'curl is not installed'
if [ -n "$KEYS" ]; then
  # shellcheck disable=SC2034 # of fetch.sh
  SIGNING=$(cat "$KEYS") || fail "the keys of the storage are not there any more: run it again"
  can_sign >&2 || exit 1
fi
[ -d "$directory" ] || fail "$directory is no directory"

if [ -e "$path" ]; then
  found=$(sum_of "$path")
  if [ "$found" = "$sha256" ]; then finish; fi
  [ -e "$path.verified" ] || fail "$path is not a file of this tool, and not the file that the inventory names: SHA-256 $found, wanted $sha256. Move it away, or correct the inventory"
fi

# Messages may have parts of the address.
rm -rf "$said"
(umask 077 && mkdir -p "$said")
headers=$(ask "$url" --fail --head --max-time 60 2>/dev/null) || headers=
total=$(printf '%s\n' "$headers" | header content-length)
# A shell may run commands inside an arithmetic expression.
case $total in *[!0-9]* | ????????????????*) fail "$shown answers a length that is not a number: $total" ;; esac
version=$(printf '%s\n' "$headers" | tr -d '\r' | awk 'tolower($1) ~ /^(content-length|etag|last-modified):$/ { printf "%s;", $0 }')
of=$(cat "$part.of" 2>/dev/null)
case $headers:$of in
  # Without an answer it is unknown whether the version has changed.
  ":ranges $url "*) total=$(printf '%s\n' "$of" | sed -n 's/.*[ ;][Cc]ontent-[Ll]ength: *\([0-9]*\);.*/\1/p') ;;
esac
if [ "$connections" -gt 1 ] && [ -n "$total" ]; then use_ranges; else use_stream; fi
case $headers:$of in
  ":$mark$url "*) ;;
  *) write_origin ;;
esac
drop_useless

continued=
if [ -e "$part" ]; then continued=yes; fi
if [ -n "$total" ]; then
  missing=$((total - $(held)))
  free=$(df -B1 --output=avail "$directory" | tail -n 1)
  [ "$missing" -le "$free" ] || fail "not enough room in $directory for $shown: $missing bytes needed, $free free"
fi

show downloading "$total"
fetch_all
# Nothing is written for an empty file.
[ -e "$part" ] || : >"$part"
found=$(sum_of "$part")
if [ "$found" != "$sha256" ]; then
  if [ -n "$continued" ]; then rm -f "$part"; exec /bin/sh "$0"; fi
  fail "$shown is corrupted, or not the file that the inventory names: SHA-256 $found, wanted $sha256 ($(size_of "$part") bytes)"
fi
chmod 0644 "$part"
sync "$part" 2>/dev/null || :
mv -f "$part" "$path"
finish
