#!/bin/sh
# Loads the rules of the published ports: FILE.v4 and FILE.v6, lines for iptables-restore. Run before each start of the
# Docker engine, which is not started without them, and whenever they change.
#
# Only the chains that the files name are emptied, and only the jumps to them are moved. Each family changes in one step.
set -eu
export LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

rules=$1
prefix=$2

# Prints how the first chain leads to the second before it does anything else.
lead() {
  present=$("$command" --wait=60 -S "$1")
  [ "$(printf '%s\n' "$present" | sed -n '/^-A /{p;q;}')" != "-A $1 -j $2" ] || return 0
  printf '%s\n' "$present" | sed -n "s/^-A \($1 -j $2\)\$/-D \1/p"
  echo "-I $1 1 -j $2"
}

load() {
  command=$1
  # The engine uses the existing chain.
  "$command" --wait=60 -n -L DOCKER-USER >/dev/null 2>&1 || "$command" --wait=60 -N DOCKER-USER
  # Read first: iptables-restore holds the lock of the rules from its first line on.
  lines=$(
    echo '*filter'
    cat "$2"
    lead FORWARD DOCKER-USER
    lead DOCKER-USER "$prefix"
    lead INPUT "$prefix-INPUT"
    echo COMMIT
  )
  printf '%s\n' "$lines" | "$command-restore" --wait=60 --noflush
}

load iptables "$rules.v4"
# A kernel without IPv6 has no such file.
if [ -e /proc/net/if_inet6 ]; then load ip6tables "$rules.v6"; fi
