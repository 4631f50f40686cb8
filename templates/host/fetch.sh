#!/bin/sh
# Functions that fetch files by curl from web servers, and from S3-compatible storage with signed requests. They are put before the scripts
# that use them, which all have the same patience:
#   a connection below 10 kB a second for a minute is opened again;
#   ten attempts in a row that bring less than 1 MiB together end the work;
#   a busy server is contacted again when it asks for it, and after five minutes at the latest.
#
# Settings of the scripts:
#   SIGNING   settings of curl that sign requests for a storage; empty for a web server. They are in no argument list and no environment
#   STORAGE   the key of the inventory that names the storage, for messages: set after this text where it is not snapshot.s3
# Names that begin with f_ are of these functions alone.
LC_ALL=C
export LC_ALL
# Longest pause that a busy server can request. Seconds.
longest=300
STORAGE=snapshot.s3
mebibyte=1048576
sum_of_nothing=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

# Runs curl for a URL, which is in no argument list: its query may be as good as a password. Arguments: URL, then options of curl
ask() {
  f_asked=$1
  shift
  # A redirect would take the signature of one address to another one. The storage wants to know what is sent, and curl does not say so.
  if [ -z "${SIGNING:-}" ]; then set -- --location "$@"; else set -- --header "x-amz-content-sha256: ${body_sum:-$sum_of_nothing}" "$@"; fi
  {
    printf '%s\n' "$f_asked" | sed 's/[\\"]/\\&/g; s/.*/url = "&"/'
    printf '%s\n' "${SIGNING:-}"
  } | curl --disable --noproxy '*' --silent --show-error --globoff --connect-timeout 30 "$@" --config -
}
# Prints one header of the last answer, because redirects come before it.
header() { tr -d '\r' | awk -v name="$1:" 'toupper($1) ~ /^HTTP\// { v = "" } tolower($1) == name { sub(/^[^:]*: */, ""); v = $0 } END { print v }'; }

# Earlier ones leave out of the signature what a storage wants to be signed.
can_sign() {
  f_version=$(curl --version | sed -n '1s/^curl \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  [ "${f_version% *}" -gt 7 ] || { [ "${f_version% *}" = 7 ] && [ "${f_version#* }" -ge 88 ]; } && return
  echo "curl of $(uname -n) is older than 7.88 and cannot sign requests for a storage: use a host with Debian 12 or 13 or Ubuntu 24.04, or a web server"
  return 1
}

# Prints the text of an element of an answer of the storage, which is XML. Arguments: element, answer
element() { printf '%s' "$2" | tr -d '\r\n' | sed -n "s/.*<$1>\([^<]*\)<\/$1>.*/\1/p" | head -c 200; }

# Says how the clock of this host differs from the storage's. Argument: answer
clock_off() {
  theirs=$(date -d "$(printf '%s\n' "$1" | header date)" +%s 2>/dev/null) || { echo 'differs from that of the storage'; return; }
  off=$((($(date +%s) - theirs) / 60))
  case $off in
    -*) echo "is ${off#-} minutes behind that of the storage" ;;
    *) echo "is $off minutes ahead of that of the storage" ;;
  esac
}

# Says in which region a bucket is. Argument: answer
other_region() {
  f_region=$(element Region "$1")
  [ -n "$f_region" ] || f_region=$(printf '%s\n' "$1" | header x-amz-bucket-region)
  # A storage may name it in its message alone.
  [ -n "$f_region" ] || f_region=$(element Message "$1" | sed "s/&#39;\|&apos;\|&quot;/'/g" | sed -n "s/.*expecting '\{0,1\}\([A-Za-z0-9-]*\).*/\1/p")
  if [ -n "$f_region" ]; then
    echo "the bucket is in region $f_region: correct $STORAGE.region, and $STORAGE.endpoint where it names a region"
  else
    echo "the bucket is at another endpoint, or in another region: correct $STORAGE.endpoint and $STORAGE.region"
  fi
}

# Says what the storage refuses, and what to do. Arguments: name for messages, status, answer with its headers
refused_by_storage() {
  f_cause=$(element Code "$3")
  case ${f_cause:-$2} in
    RequestTimeTooSkewed) f_why="the clock of $(uname -n) $(clock_off "$3"), which then accepts no signature: correct the clock (timedatectl shows it, chronyc makestep sets it)" ;;
    InvalidAccessKeyId) f_why="the storage does not know the access key: correct $STORAGE.access_key" ;;
    SignatureDoesNotMatch) f_why="the secret key is not that of the access key: correct $STORAGE.secret_key" ;;
    ExpiredToken | TokenRefreshRequired) f_why='the session token has expired: get a new one, with its keys' ;;
    InvalidToken) f_why="the session token is not that of the keys: correct $STORAGE.session_token" ;;
    AuthorizationHeaderMalformed | PermanentRedirect | TemporaryRedirect | IllegalLocationConstraintException | 301 | 307) f_why=$(other_region "$3") ;;
    NoSuchBucket) f_why='there is no such bucket: correct its name, or make it' ;;
    NoSuchKey) f_why='there is no such file in the bucket' ;;
    AccessDenied | AllAccessDisabled | AccountProblem | 403)
      f_why='the storage does not allow this with this key: give the key the right, or use another key. The storage answers the same for a missing file if the key may not list the bucket' ;;
    *) f_why="the storage answers $(element Message "$3")" ;;
  esac
  printf '%s\n' "$1: $f_why (HTTP $2${f_cause:+, $f_cause})"
}

# Says that the storage does not answer. Arguments: name for messages, URL, what curl said
unanswered() {
  f_server=${2#*://}
  f_why=$(printf '%s\n' "$3" | sed -n 's/^curl: ([0-9]*) //p' | tail -n 1)
  echo "$1: the storage at ${f_server%%/*} does not answer $(uname -n) ($f_why): check $STORAGE.endpoint, and the network"
}

# Says why an answer is no file. Arguments: name for messages, URL, status
refused() {
  if [ -z "${SIGNING:-}" ]; then echo "$1 answers $3"; return; fi
  # It is asked again, for its words.
  f_again=$(ask "$2" --include --range 0-0 --max-filesize 100000 --max-time 30 2>/dev/null | tr -d '\0')
  f_status=$(printf '%s\n' "$f_again" | sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p')
  case $f_status in '' | 2*) f_again='' f_status=$3 ;; esac
  refused_by_storage "$1" "$f_status" "$f_again"
}

# Waits before the next attempt: as long as a busy server requests, in seconds or by a date. Arguments: attempts, status, file with headers
pause() {
  pause=$1
  after=
  case $2 in 429 | 503) after=$(header retry-after <"$3") ;; esac
  case $after in
    '') ;;
    *[!0-9]*) after=$(date -d "$after" +%s 2>/dev/null) && after=$((after - $(date +%s))) || after= ;;
    ????????*) after=$longest ;;
  esac
  if [ -n "$after" ] && [ "$after" -gt "$pause" ]; then pause=$after; fi
  if [ "$pause" -gt "$longest" ]; then pause=$longest; fi
  sleep "$pause"
}

# The reason why nothing more can be written, in the system's words.
write_error() {
  dd if=/dev/zero of="$1.probe" bs=64k count=16 2>&1 >/dev/null | sed -n 's/^dd: .*: //p'
  rm -f "$1.probe"
}
cannot_write() {
  f_why=$(write_error "$1")
  case $f_why in
    # Another one may have made room since.
    '' | 'No space left on device' | 'Disk quota exceeded') no_room "$(dirname "$1")" "$2" ;;
    *) echo "$1 cannot be written: $f_why" ;;
  esac
}
no_room() { echo "there is no room in $1 for $2: it is full. The next run goes on"; }

# One attempt: sets code (of curl), http, and got, the bytes that were written. Arguments: URL, its offset, bytes or nothing, target, its offset,
# folder for messages, the range that is asked for or nothing
attempt() {
  set -- "$1" "$2" "$3" "$4" "$5" "$6" ${7:+--range "$7"} ${3:+--max-filesize "$3"}
  f_into=$4 f_at=$5 f_most=$3 f_messages=$6 f_from=$1
  shift 6
  {
    ask "$f_from" --fail --speed-limit 10000 --speed-time 60 --dump-header "$f_messages/headers" \
      --write-out '%{stderr}\n%{http_code}' "$@" 2>"$f_messages/curl"
    echo $? >"$f_messages/code"
  } | dd of="$f_into" conv=notrunc oflag=seek_bytes seek="$f_at" bs=64k iflag="fullblock${f_most:+,count_bytes}" ${f_most:+count="$f_most"} 2>"$f_messages/dd"
  written=$?
  code=$(cat "$f_messages/code")
  http=$(tail -n 1 "$f_messages/curl")
  got=$(sed -n 's/^\([0-9]*\) bytes.*/\1/p' "$f_messages/dd")
  got=${got:-0}
}

# Fetches bytes of a file to a place in another one. An attempt goes on where the one before ended.
# Arguments: name for messages, URL, offset, bytes (nothing: unknown, all of it), target, offset in it, folder for messages, yes: it is the whole file
# Result: 0; 1 with the reason on standard error; 3 where the server ignores ranges, and what was written is of no use
fetch() {
  f_name=$1 f_url=$2 f_begin=$3 f_wanted=$4 f_target=$5 f_place=$6 f_said=$7 f_whole=$8
  fetched=0 tries=0 counted=0
  mkdir -p "$f_said"
  : >"$f_said/headers"
  while [ -z "$f_wanted" ] || [ "$fetched" -lt "$f_wanted" ]; do
    f_first=$((f_begin + fetched))
    f_range=
    if [ "$f_whole" != yes ] || [ "$f_first" -gt 0 ]; then f_range=$f_first-${f_wanted:+$((f_begin + f_wanted - 1))}; fi
    f_rest=${f_wanted:+$((f_wanted - fetched))}
    attempt "$f_url" "$f_first" "$f_rest" "$f_target" $((f_place + fetched)) "$f_said" "$f_range"
    if [ -n "$f_range" ] && [ "$http" = 200 ]; then return 3; fi
    fetched=$((fetched + got))
    if [ "$written" -ne 0 ]; then cannot_write "$f_target" "$f_name" >&2; return 1; fi
    # All of a file of an unknown size came, or came before.
    if [ -z "$f_wanted" ] && { [ "$code" = 0 ] || { [ "$http" = 416 ] && [ "$f_first" -gt 0 ]; }; }; then return 0; fi
    # The words of a refusal may be longer than what is asked for.
    case $http:$code in
      2*:23 | 2*:63) echo "$f_name is longer than the $f_wanted bytes that it has to have" >&2; return 4 ;;
      # A file of this host has no status, and curl takes an error of a share for its end.
      0*:37) echo "$f_name cannot be read: it is not there, or root may not read it" >&2; return 1 ;;
      0*:0 | 0*:36)
        f_size=$(stat -L -c %s "${f_url#file://}" 2>/dev/null)
        if [ -n "$f_size" ] && [ "$f_size" -lt $((f_begin + f_wanted)) ]; then echo "$f_name has $f_size bytes, and has to have more" >&2; return 4; fi ;;
      2*:0) if [ "$fetched" -lt "$f_wanted" ]; then echo "$f_name ends after $((f_first + got)) bytes, and has to have more" >&2; return 4; fi ;;
    esac
    if [ -n "$f_wanted" ] && [ "$fetched" -ge "$f_wanted" ]; then return 0; fi
    case $http in
      408 | 416 | 429 | 0*) ;;
      3* | 4*) refused "$f_name" "$f_url" "$http" >&2; return 1 ;;
    esac
    # A server that sends a few bytes each time would never come to an end.
    if [ $((fetched - counted)) -ge "$mebibyte" ]; then counted=$fetched tries=0; fi
    tries=$((tries + 1))
    if [ "$tries" -ge 10 ]; then
      echo "$f_name breaks off at $((f_begin + fetched)) of ${total:-${f_wanted:-an unknown number of}} bytes: $(sed -n 's/^curl: ([0-9]*) //p' "$f_said/curl" | tail -n 1) (HTTP $http)" >&2
      return 1
    fi
    pause "$tries" "$http" "$f_said/headers"
  done
}

# Fetches a file from where its partial file ends. If the server sends it from the beginning only, the fetch starts over.
# Arguments: name for messages, URL, bytes (nothing: unknown), target, folder for messages
# Result: as that of fetch, without 3
fetch_file() {
  restarts=0
  while :; do
    have=$(stat -c %s "$4" 2>/dev/null || echo 0)
    if [ -n "$3" ] && [ "$have" -ge "$3" ]; then return 0; fi
    fetch "$1" "$2" "$have" "${3:+$(($3 - have))}" "$4" "$have" "$5" yes
    result=$?
    [ "$result" = 3 ] || return "$result"
    restarts=$((restarts + 1))
    if [ "$restarts" -ge 10 ]; then
      echo "$1 breaks off at $(stat -c %s "$4") of ${3:-an unknown number of} bytes, again and again, and its server sends it from the beginning only" >&2
      return 1
    fi
    rm -f "$4"
  done
}
