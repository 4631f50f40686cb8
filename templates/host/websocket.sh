#!/bin/bash
# Opens a WebSocket on this host, as RFC 6455 has it, and sends one text message. Prints the Sec-WebSocket-Accept that belongs to its key,
# the status line and the headers of the answer to the handshake, and an empty line. If the server agrees, and proves that it read the key,
# it then prints what came: `message`, `close` with the code, or `masked` for a frame that a server must not send; and from the next line
# on the text. Without an answer it prints nothing, and the reason on standard error.
#
# Arguments: port, the message, shorter than 126 bytes, time limit of an answer in seconds, and for how many seconds HTTP 429 is asked
# again, as probe.sh does.
port=$1
message=$2
limit=$3
patience=$4
# Lengths are bytes, and the system's own error messages are in English.
LC_ALL=C

# 16 random bytes in base64 (RFC 6455, section 4.1); a server may refuse another length. The proof that the server read it is the SHA-1 of
# the key and a number that every server knows (section 1.3).
key=$(head -c 16 /dev/urandom | base64)
digest=$(printf '%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11' "$key" | sha1sum)
# shellcheck disable=SC2059
accept=$(printf "$(printf '%s' "${digest%% *}" | sed 's/../\\x&/g')" | base64)

while :; do
  exec 3<>"/dev/tcp/localhost/$port" || exit 1
  printf 'GET / HTTP/1.1\r\nHost: localhost:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n' "$port" "$key" >&3
  IFS= read -t "$limit" -r -n 500 status <&3
  ended=$?
  case $status in 'HTTP/1.1 429'*) [ "$SECONDS" -lt "$patience" ] || break ;; *) break ;; esac
  sleep 1
done
if [ -z "$status" ]; then
  if [ "$ended" -gt 128 ]; then echo "it sends nothing within $limit s"; else echo 'it closes the connection'; fi >&2
  exit 1
fi
printf '%s\n' "$accept" "${status%$'\r'}"
proof=''
# A server that never ends its headers is cut off.
for ((lines = 0; lines < 100; lines++)); do
  IFS= read -t "$limit" -r -n 2000 header <&3 || break
  header=${header%$'\r'}
  [ -n "$header" ] || break
  printf '%s\n' "$header"
  case ${header,,} in sec-websocket-accept:*) proof=${header#*:} ;; esac
done
echo
case $status in 'HTTP/1.1 101'*) ;; *) exit 0 ;; esac
[ "${proof// /}" = "$accept" ] || exit 0

# Prints the next bytes as numbers, at most 16.
bytes() {
  timeout "$limit" head -c "$1" <&3 | od -An -v -tu1
}

# Sends a frame. Arguments: first byte, content, both in hexadecimal. A client masks what it sends; a server may refuse what is not masked.
send() {
  local content=$2 mask masked='' at byte
  mask=$(head -c 4 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
  for ((at = 0; at < ${#content}; at += 2)); do
    printf -v byte '\\x%02x' $((0x${content:at:2} ^ 0x${mask:at % 8:2}))
    masked+=$byte
  done
  # shellcheck disable=SC2059
  printf "\\x$1\\x$(printf '%x' $((128 + ${#content} / 2)))$(printf '%s' "$mask" | sed 's/../\\x&/g')$masked" >&3
}

send 81 "$(printf '%s' "$message" | od -An -v -tx1 | tr -d ' \n')"
said=''
while read -r first length < <(bytes 2) && [ -n "$length" ]; do
  if [ "$length" -ge 128 ]; then
    echo masked
    break
  fi
  case $length in
    126) read -r high low < <(bytes 2) && length=$((256 * high + low)) ;;
    # No answer to one request is that long: its first bytes show what it is.
    127) read -r _ < <(bytes 8) && length=65536 first=129 ;;
  esac
  case $((first & 15)) in
    # A text, whole or in pieces.
    0 | 1 | 2)
      [ "$said" ] || echo message
      said=yes
      timeout "$limit" head -c "$length" <&3
      [ "$first" -lt 128 ] || break
      ;;
    8)
      code=''
      [ "$length" -lt 2 ] || { read -r high low < <(bytes 2) && code=$((256 * high + low)); }
      echo "close${code:+ $code}"
      [ "$length" -le 2 ] || timeout "$limit" head -c $((length - 2)) <&3
      break
      ;;
    # A ping or a pong.
    *) timeout "$limit" head -c "$length" <&3 >/dev/null ;;
  esac
done
# The end of a WebSocket, with code 1000: without it the server notes a lost connection.
send 88 03e8 2>/dev/null
