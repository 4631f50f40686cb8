#!/bin/bash
# Opens a WebSocket on this host and sends one text message. Prints the first line of the answer to the handshake, and if the server
# agrees, the first message that it sends. Without an answer it prints nothing, and the reason on standard error.
#
# Arguments: port, the message, shorter than 126 bytes, time limit of an answer in seconds, and for how many seconds HTTP 429 is asked
# again, as probe.sh does.
port=$1
message=$2
limit=$3
patience=$4

while :; do
  exec 3<>"/dev/tcp/localhost/$port" || exit 1
  # Any 16 bytes are a key.
  printf 'GET / HTTP/1.1\r\nHost: localhost:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: cnBjLXBsYXlib29rcyBrZXk=\r\n\r\n' "$port" >&3
  IFS= read -t "$limit" -r status <&3
  case $status in 'HTTP/1.1 429'*) [ "$SECONDS" -lt "$patience" ] || break ;; *) break ;; esac
  sleep 1
done
printf '%s\n' "${status%$'\r'}"
case $status in 'HTTP/1.1 101'*) ;; *) exit 0 ;; esac
while IFS= read -r header <&3 && [ -n "${header%$'\r'}" ]; do :; done

# Prints the next bytes as numbers.
bytes() {
  timeout "$limit" head -c "$1" <&3 | od -An -v -tu1
}

# One frame: text, the length with the bit of a mask, and a mask of zeros, which changes nothing.
# shellcheck disable=SC2059
printf "\\x81\\x$(printf '%x' $((128 + ${#message})))\\0\\0\\0\\0%s" "$message" >&3
read -r _ length < <(bytes 2)
if [ "$length" = 126 ]; then
  read -r high low < <(bytes 2)
  length=$((256 * high + low))
fi
timeout "$limit" head -c "$length" <&3
