#!/bin/sh
# Sends one HTTP request with the tools of a bare server: curl, else wget, else bash. Prints the unchanged answer: status line,
# headers, an empty line, body; with redirects, one answer after the other. Prints `connected` if only the connection can be tested:
# other protocols, and https without curl and wget. Without an answer it prints nothing, and the reason on standard error.
#
# It goes directly, whatever proxy the session has: what a deploy does after a check knows nothing of that one.
#
# Standard input: a line with the URL, as providers put a key into it and other users see arguments; and a line with a JSON body to POST,
# without which the request is a GET.
# Arguments: time limit in seconds, length of the body to read, and for how many seconds HTTP 429 is asked again: a node answers so to more
# requests in a second than its configuration allows, and the checks of a run ask at the same time. Then a folder, or nothing, whose ca.crt,
# client.cert and client.key are used beside the authorities of the host, if they are there.
IFS= read -r url
IFS= read -r json || json=
limit=$1
length=$2
patience=${3:-0}
certificates=${4:-/dev/null}

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
type='Content-Type: application/json'
range="bytes=0-$((length - 1))"
# A server without ranges sends everything. The headers need the rest.
longest=$((length + 32768))

with_curl() {
  if [ -n "$json" ]; then set -- -H "$type"; else set -- -H "Range: $range"; fi
  [ ! -e "$certificates/ca.crt" ] || set -- "$@" --capath /etc/ssl/certs --cacert "$certificates/ca.crt"
  [ ! -e "$certificates/client.key" ] || set -- "$@" --cert "$certificates/client.cert" --key "$certificates/client.key"
  {
    printf '%s\n' "$url" | sed 's/[\\"]/\\&/g; s/.*/url = "&"/'
    [ -z "$json" ] || printf '%s\n' "$json" | sed 's/[\\"]/\\&/g; s/.*/data = "&"/'
  } | curl --disable --noproxy '*' -sSLgi -m "$limit" -K - "$@"
}

with_wget() {
  # It takes a body from an argument or a file. A question about a chain has nothing of an inventory.
  if [ -n "$json" ]; then set -- --header "$type" --post-data "$json"; else set -- --header "Range: $range"; fi
  [ ! -e "$certificates/ca.crt" ] || set -- "$@" --ca-certificate "$certificates/ca.crt"
  [ ! -e "$certificates/client.key" ] ||
    set -- "$@" --certificate "$certificates/client.cert" --private-key "$certificates/client.key"
  printf '%s\n' "$url" | wget --no-config --no-proxy -nv -O - --save-headers --content-on-error -T "$limit" -t 1 -i - "$@"
  # By its exit code: it prints nothing for an answer that asks for a password.
  if [ $? -eq 6 ]; then printf 'HTTP/1.1 401 Unauthorized\n\n'; fi
}

with_bash() {
  # shellcheck disable=SC2016
  printf '%s\n' "${path:-/}" "$json" | timeout "$limit" bash -c '
    IFS= read -r path
    IFS= read -r json
    exec 3<>"/dev/tcp/$1/$2" || exit 1
    if [ "$3" != http ]; then echo connected; exit; fi
    if [ -n "$json" ]; then
      printf "POST %s HTTP/1.0\r\nHost: %s\r\n%s\r\nContent-Length: %s\r\n\r\n%s" "$path" "$4" "$5" "${#json}" "$json" >&3
    else
      printf "GET %s HTTP/1.0\r\nHost: %s\r\nRange: %s\r\n\r\n" "$path" "$4" "$6" >&3
    fi
    head -c "$7" <&3' bash "$host" "$port" "$scheme" "$authority" "$type" "$range" "$longest"
}

ask() {
  case $scheme in
    http | https)
      if command -v curl >/dev/null; then with_curl; elif command -v wget >/dev/null; then with_wget; else with_bash; fi ;;
    *) with_bash ;;
  esac
}

until=$(($(date +%s) + patience))
while :; do
  ask | {
    IFS= read -r status
    case $status in HTTP/*' 429'*) [ "$(date +%s)" -ge "$until" ] || exit 75 ;; esac
    # Without an answer there is no line.
    [ -z "$status" ] || printf '%s\n' "$status"
    head -c $((longest - ${#status} - 1))
  }
  [ $? -eq 75 ] || exit 0
  sleep 1
done
