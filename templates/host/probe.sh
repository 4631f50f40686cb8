#!/bin/sh
# Whether an address answers, with what a bare server has: curl, else wget, else bash. On standard input: the URL, for providers put
# a key into it, and arguments are seen by others. Arguments: seconds, and a JSON body to POST, if any. Prints `http CODE` and the
# answer's beginning, or `tcp` where only the connection could be tried. Exit code 1 and the reason on standard error where nothing
# answers.
IFS= read -r url
limit=$1
body=${2-}

scheme=${url%%://*}
rest=${url#*://}
authority=${rest%%[/?#]*}
path=${rest#"$authority"}
authority=${authority##*@}
case $authority in
  \[*\]:*) port=${authority##*:} host=${authority%:*} ;;
  \[*\]) port='' host=$authority ;;
  *:*) port=${authority##*:} host=${authority%:*} ;;
  *) port='' host=$authority ;;
esac
host=${host#\[}
host=${host%\]}
if [ -z "$port" ]; then
  case $scheme in http | ws) port=80 ;; https | wss) port=443 ;; git) port=9418 ;; ssh) port=22 ;; esac
fi
kind='Content-Type: application/json'

# A server that does not know ranges would send everything: the size limit ends that once the status is known.
with_curl() {
  address=$(printf '%s\n' "$url" | sed 's/[\\"]/\\&/g; s/.*/url = "&"/')
  if [ -n "$body" ]; then
    answer=$(printf '%s\n' "$address" | curl -sSLg -m "$limit" -K - -H "$kind" -d "$body" -w '\n%{http_code}')
  else
    answer=$(printf '%s\n' "$address" | curl -sSLg -m "$limit" -K - -r 0-0 --max-filesize 1000000 -o /dev/null -w '\n%{http_code}' 2>&1)
  fi
  code=$(printf '%s\n' "$answer" | tail -n 1)
  case $code in '' | 000) printf '%s\n' "$answer" | sed '$d' >&2; return 1 ;; esac
  echo "http $code"
  printf '%s\n' "$answer" | sed '$d'
}

with_wget() {
  set -- -q -S -O - -T "$limit" -t 1 -i -
  if [ -n "$body" ]; then set -- "$@" --header "$kind" --post-data "$body"; else set -- "$@" --header 'Range: bytes=0-0'; fi
  # The headers go to standard error, the answer's beginning comes after them.
  answer=$( { printf '%s\n' "$url" | wget "$@" | head -c 4000; } 2>&1)
  code=$(printf '%s\n' "$answer" | sed -n 's/^ *HTTP\/[0-9.]* \([0-9]*\).*/\1/p' | tail -n 1)
  if [ -z "$code" ]; then echo 'no answer' >&2; return 1; fi
  echo "http $code"
  printf '%s\n' "$answer" | sed '/^  /d'
}

with_bash() {
  # shellcheck disable=SC2016
  answer=$(printf '%s\n' "${path:-/}" | timeout "$limit" bash -c '
    IFS= read -r path
    exec 3<>"/dev/tcp/$1/$2" || exit 1
    [ "$3" = http ] || exit 0
    if [ -n "$5" ]; then
      printf "POST %s HTTP/1.0\r\nHost: %s\r\n%s\r\nContent-Length: %s\r\n\r\n%s" "$path" "$4" "$6" "${#5}" "$5" >&3
      head -c 100000 <&3
    else
      printf "GET %s HTTP/1.0\r\nHost: %s\r\nRange: bytes=0-0\r\n\r\n" "$path" "$4" >&3
      IFS= read -r first <&3
      printf "%s\n" "$first"
    fi' bash "$host" "$port" "$scheme" "$authority" "$body" "$kind" 2>&1)
  case $? in
    0) ;;
    124) echo "no answer within $limit s" >&2; return 1 ;;
    *) printf '%s\n' "$answer" | sed 's/^bash: //; s/^line [0-9]*: //; s/^.*: \([^:]*\)$/\1/' | tail -n 1 >&2; return 1 ;;
  esac
  if [ "$scheme" != http ]; then echo tcp; return 0; fi
  answer=$(printf '%s' "$answer" | tr -d '\r')
  code=$(printf '%s\n' "$answer" | sed -n '1s/^HTTP\/[0-9.]* \([0-9]*\).*/\1/p')
  if [ -z "$code" ]; then echo 'something answers that does not speak HTTP' >&2; return 1; fi
  echo "http $code"
  printf '%s\n' "$answer" | sed '1,/^$/d'
}

case $scheme in
  http | https)
    if command -v curl >/dev/null; then with_curl; elif command -v wget >/dev/null; then with_wget; else with_bash; fi ;;
  *) with_bash ;;
esac
