#!/bin/sh
# Takes RPC hosts out at this gateway and lets them back in.
#   gateway drain HOST REASON   new requests go to others; what the host has already ends by itself
#   gateway undrain HOST        it serves again once it is fit
#   gateway cut HOST            ends the connections that it still has, such as WebSockets
#   gateway fleet PORT          who may serve, and why not, as JSON; PORT is gateway.metrics of the inventory
set -eu

drained=/var/lib/haproxy/drained
socket=/run/haproxy/admin.sock

case ${1-} in drain | undrain | cut)
  case ${2-} in '' | .* | *[!A-Za-z0-9._-]*) echo "gateway $1: which host?" >&2; exit 2 ;; esac
  ;;
esac

command_of_haproxy() {
  printf '%s\n' "$1" | socat -t 5 - "unix-connect:$socket"
}

case ${1-} in
  drain)
    # By rename, so that HAProxy never reads a part of it.
    printf '%s\n' "${3:-by the operator}" > "$drained/.$2"
    mv "$drained/.$2" "$drained/$2"
    ;;
  undrain) rm -f "$drained/$2" ;;
  cut)
    # Not in the pipe: a HAProxy that does not answer ends this script.
    servers=$(command_of_haproxy "show servers conn")
    printf '%s\n' "$servers" | cut -d ' ' -f 1 |
      grep -xF -e "rpc_http/$2" -e "rpc_heavy/$2" -e "rpc_websocket/$2" |
      while read -r server; do command_of_haproxy "shutdown sessions server $server"; done
    ;;
  fleet) exec curl --noproxy '*' --silent --show-error --fail --max-time 3 "http://127.0.0.1:${2:?port}/fleet" ;;
  *)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
