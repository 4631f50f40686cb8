#!/bin/sh
# Downloads a file, verifies it, and only then puts it in place. It may be killed at any moment: the next run continues.
#
# Settings, in the environment or assigned before this text:
#   url          its query may be as good as a password: it is in no argument list, no message and no file that others can read
#   path         target path of the file
#   sha256       its SHA-256, in hex
#   connections  1: curl fetches it; more: aria2c fetches as many pieces in parallel
#   status       file that shows the phase: `downloading TOTAL` (bytes) or `verifying`
#
# Files that it creates:
#   PATH.part        the partial file
#   PATH.part.of     program, URL and version of the partial file. Only the same program continues it, and only of the same version
#   PATH.part.aria2  aria2c's control file: the fetched pieces, from before the first byte until the file is complete. While it
#                    exists, the length of the partial file means nothing. Without it, only one of full length is useful
#   PATH.verified    SHA-256, size and time of the file that was verified
set -u
: "${url:?}" "${path:?}" "${sha256:?}" "${connections:?}" "${status:?}"
shown=${url%%\?*}
directory=$(dirname "$path")
part=$path.part
# Longest pause that a busy server can request. Seconds.
longest=300

fail() { printf '%s\n' "$*" >&2; exit 1; }
show() { printf '%s\n' "$*" >"$status.new" && mv -f "$status.new" "$status"; }
size_of() { if [ -e "$1" ]; then stat -c %s "$1"; else echo 0; fi; }
sum_of() { show verifying; sha256sum <"$1" | cut -d' ' -f1; }
# The reason why nothing more can be written, in the system's words.
write_error() { LC_ALL=C dd if=/dev/zero of="$part.probe" bs=64k count=16 2>&1 >/dev/null | sed -n 's/^dd: .*: //p'; rm -f "$part.probe"; }
# Prints one header of the last answer, because redirects come before it.
header() { tr -d '\r' | awk -v name="$1:" 'toupper($1) ~ /^HTTP\// { v = "" } tolower($1) == name { sub(/^[^:]*: */, ""); v = $0 } END { print v }'; }
ask() {
  printf '%s\n' "$url" | sed 's/[\\"]/\\&/g; s/.*/url = "&"/' |
    curl --silent --fail --location --globoff --connect-timeout 30 "$@" --config -
}

if [ "$connections" -eq 1 ]; then
  by=curl
  mark=
  held() { size_of "$part"; }
  drop_useless() { :; }
  is_whole() { [ -n "$total" ] && [ "$(size_of "$part")" -ge "$total" ]; }
  fetch() {
    http=$(ask --show-error --speed-limit 1 --speed-time 120 --continue-at - --dump-header "$status.headers" --output "$part" --write-out '%{http_code}')
    code=$?
    # The partial file is complete already, and the server did not send the length.
    if [ -z "$total" ] && [ -s "$part" ] && [ "$http" = 416 ]; then code=0; fi
    # The server cannot continue a download.
    case $code in 33 | 36) rm -f "$part" ;; esac
    [ "$code" -eq 0 ]
  }
else
  by=aria2c
  mark='aria2 '
  # Without holes between the pieces.
  held() { if [ -e "$part" ]; then echo $(($(stat -c '%b * %B' "$part"))); else echo 0; fi; }
  drop_useless() {
    [ -e "$part.aria2" ] || [ "$(size_of "$part")" = "$total" ] || rm -f "$part"
    [ -e "$part" ] || rm -f "$part.aria2"
  }
  is_whole() { [ -e "$part" ] && [ ! -e "$part.aria2" ]; }
  fetch() {
    # Its messages contain the URL.
    (umask 077 && : >"$status.log")
    # After 60 s without a byte a connection is opened again; after two attempts of each connection it ends.
    aria2c --no-conf=true --no-netrc=true --enable-rpc=false --enable-dht=false --enable-dht6=false --follow-torrent=false \
      --follow-metalink=false --parameterized-uri=false --async-dns=false --remote-time=false --auto-file-renaming=false \
      --allow-overwrite=false --always-resume=true --file-allocation=none --disk-cache=0 --auto-save-interval=1 --piece-length=1M \
      --min-split-size=1M --split="$connections" --max-connection-per-server="$connections" --connect-timeout=30 --timeout=60 \
      --max-tries=2 --retry-wait=1 --show-console-readout=false --summary-interval=0 --enable-color=false \
      --console-log-level=error --download-result=hide --dir="$directory" --input-file=- >"$status.log" 2>&1 <<END
$url
  out=${part##*/}
END
    code=$?
    if [ "$code" -eq 0 ] && is_whole; then return 0; fi
    # It does not report the server's status: curl requests the first byte.
    http=$(ask --no-fail --show-error --range 0-0 --max-filesize 1000000 --max-time 30 --dump-header "$status.headers" \
      --output /dev/null --write-out '%{http_code}' 2>"$status.error")
    if [ "$http" = 000 ]; then cat "$status.error" >&2; fi
    # Its control file is unreadable, or belongs to another file.
    if grep -q BtProgressInfoFile "$status.log"; then rm -f "$part" "$part.aria2"; fi
    return 1
  }
fi

# Waits before the next attempt: as long as a busy server requests, in seconds or by a date.
pause() {
  pause=$tries
  after=
  case $http in 429 | 503) after=$(header retry-after <"$status.headers") ;; esac
  case $after in
    '') ;;
    *[!0-9]*) after=$(date -d "$after" +%s 2>/dev/null) && after=$((after - $(date +%s))) || after= ;;
    ????????*) after=$longest ;;
  esac
  if [ -n "$after" ] && [ "$after" -gt "$pause" ]; then pause=$after; fi
  if [ "$pause" -gt "$longest" ]; then pause=$longest; fi
  sleep "$pause"
}

# Completes the partial file.
fetch_all() {
  tries=0
  refused=0
  most=$(held)
  until is_whole || fetch; do
    have=$(held)
    case $code in
      9 | 15 | 16 | 17 | 23)
        why=$(write_error)
        case $why in
          'No space left on device' | 'Disk quota exceeded')
            fail "not enough room in $directory for $shown: it is full at $have of ${total:-an unknown number of} bytes" ;;
          ?*) fail "$part cannot be written: $why" ;;
        esac ;;
    esac
    case $http in
      408 | 416 | 429) ;;
      4*) fail "$shown answers $http" ;;
    esac
    # Only more than ever before is progress: a partial file may have been removed.
    if [ "$have" -gt "$most" ]; then most=$have tries=0 refused=0; elif [ "$code" -eq 8 ]; then refused=$((refused + 1)); fi
    # aria2c: the server cannot continue a download.
    if [ "$refused" -gt 1 ]; then rm -f "$part" "$part.aria2"; refused=0; fi
    drop_useless
    tries=$((tries + 1))
    [ "$tries" -lt 10 ] || fail "$shown breaks off at $most of ${total:-an unknown number of} bytes ($by exit code $code, HTTP $http)"
    pause
  done
}

finish() {
  note
  rm -f "$part.of" "$part.aria2" "$status" "$status".*
  exit 0
}
note() { stat -c "$sha256 %s %Y" "$path" >"$path.verified.new" && mv -f "$path.verified.new" "$path.verified"; }

command -v curl >/dev/null || fail 'curl is not installed'
command -v "$by" >/dev/null || fail "$by is not installed"
[ -d "$directory" ] || fail "$directory is no directory"

if [ -e "$path" ]; then
  found=$(sum_of "$path")
  if [ "$found" = "$sha256" ]; then finish; fi
  [ -e "$path.verified" ] || fail "$path is not a file of this tool, and not the file that the inventory names: SHA-256 $found, wanted $sha256. Move it away, or correct the inventory"
fi

headers=$(ask --head --max-time 60) || headers=
total=$(printf '%s\n' "$headers" | header content-length)
# A shell may run commands inside an arithmetic expression.
case $total in *[!0-9]* | ????????????????*) fail "$shown answers a length that is not a number: $total" ;; esac
version=$(printf '%s\n' "$headers" | tr -d '\r' | awk 'tolower($1) ~ /^(content-length|etag|last-modified):$/ { printf "%s;", $0 }')
case $headers:$(cat "$part.of" 2>/dev/null) in
  # Without an answer it is unknown whether the version has changed.
  ":$mark$url "*) ;;
  *)
    rm -f "$part.of.new"
    (umask 077 && printf '%s\n' "$mark$url $version" >"$part.of.new")
    cmp -s "$part.of.new" "$part.of" || rm -f "$part"
    mv -f "$part.of.new" "$part.of" ;;
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
