#!/bin/sh
# Whether this gateway may have the address that the gateways share, for keepalived: HAProxy runs, and an RPC host serves its clients, or
# those of no other gateway either. A gateway without a way to the RPC hosts would keep all clients from one that has it.
#   may-have-address OWN OTHER...   where each gateway has its metrics: ADDRESS:PORT
set -u
own=$1
shift
# A host for heavy methods alone serves no usual ones.
serves='"heavy":false,"serves":true'

fleet() {
  curl --noproxy '*' --silent --fail --max-time 2 "http://$1/fleet" 2>/dev/null
}

systemctl is-active --quiet haproxy.service || exit 1
case $(fleet "$own") in *"$serves"* | *'"judged":false'*) exit 0 ;; esac
for other; do
  case $(fleet "$other") in *"$serves"*) exit 1 ;; esac
done
exit 0
