#!/bin/sh
# Functions that send files to an S3-compatible storage. They are put before the scripts that use them, after those of fetch.sh, whose
# patience they have: ten attempts, and a silence of a minute.
#
# Settings of the scripts:
#   SIGNING   as fetch.sh says
#   ANSWERS   folder for answers

# One request, tried again where the storage is busy or does not answer. The answer with its headers is in ANSWERS/answer.
# Arguments: name for messages, URL, method, file to send or nothing, SHA-256 of it, then options of curl
# Result: 0; 1 with the reason on standard error; 2 where what is asked for is not there any more, and nothing is said
request() {
  f_name=$1 f_url=$2 f_method=$3 f_file=$4 f_sum=$5
  shift 5
  # The end of a large upload takes the storage its time.
  if [ -n "$f_file" ]; then set -- --upload-file "$f_file" --speed-limit 10000 --speed-time 60 "$@"; else set -- --max-time 600 "$@"; fi
  tries=0
  while :; do
    # For the header of the request.
    body_sum=$f_sum
    : >"$ANSWERS/answer"
    http=$(ask "$f_url" --request "$f_method" --include --output "$ANSWERS/answer" --write-out '%{http_code}' "$@" 2>"$ANSWERS/curl")
    code=$?
    # shellcheck disable=SC2034 # of fetch.sh
    body_sum=
    f_answer=$(tr -d '\0' <"$ANSWERS/answer")
    f_cause=$(element Code "$f_answer")
    case $http:$f_cause in
      # It may answer 200 before it knows.
      2*:) if [ "$code" = 0 ]; then return 0; fi ;;
      404:NoSuchUpload) return 2 ;;
      408:* | 429:* | *:RequestTimeout | *:SlowDown | *:XAmzContentSHA256Mismatch | *:BadDigest) ;;
      3* | 4*) refused_by_storage "$f_name" "$http" "$f_answer" >&2; return 1 ;;
    esac
    tries=$((tries + 1))
    if [ "$tries" -ge 10 ]; then
      echo "$f_name cannot be sent: $(sed -n 's/^curl: ([0-9]*) //p' "$ANSWERS/curl" | tail -n 1) (HTTP $http${f_cause:+, $f_cause})" >&2
      return 1
    fi
    pause "$tries" "$http" "$ANSWERS/answer"
  done
}

# Proves that the storage takes files at a name, and leaves nothing there. Arguments: name for messages, URL
try_storage() {
  request "$1" "$2?uploads=" POST '' '' || return 1
  f_upload=$(element UploadId "$f_answer")
  request "$1" "$2?uploadId=$f_upload" DELETE '' '' || return 1
}
