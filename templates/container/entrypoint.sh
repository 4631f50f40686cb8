#!/bin/sh
# Runs the program in its container. ssh needs an entry in passwd for the number of its user: any --user gets one here.
# A mounted folder of another user is refused, unless -e RPC_PLAYBOOKS_TRUST=/project trusts it. That is not set here: on the machine that
# has the folder, others may be able to write to it.
set -eu
if ! getent passwd "$(id -u)" >/dev/null; then
  NSS_WRAPPER_PASSWD=$(mktemp)
  {
    cat /etc/passwd
    echo "operator:x:$(id -u):$(id -g)::$HOME:/bin/sh"
  } >"$NSS_WRAPPER_PASSWD"
  NSS_WRAPPER_GROUP=/etc/group LD_PRELOAD=libnss_wrapper.so
  export NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP LD_PRELOAD
fi
exec rpc-playbooks "$@"
