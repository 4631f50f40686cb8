#!/bin/sh
# Writes what is known of this host's node for node_exporter's textfile collector. Run by a systemd timer; it reads only.
# It judges as playbooks/status.mjs does: the same questions, the same marks of a halt.
#
# Settings, from the file given as the first argument:
#   CONTAINERS   names of the containers that belong here
#   SEQUENCER    address of the trusted sequencer; empty: this host has no chain
#   OWN          address of this host's JSON-RPC; empty: its chain is in the state database
#   LAYER1       address of layer 1; empty: not asked. It is asked once a minute, because providers count requests
#   STATE_USER, STATE_DATABASE   of the state database
#   CERTIFICATES paths of certificates to watch
#   TEXTFILES    folder of the textfile collector
#   STATE        folder for what is kept between two runs
set -u
umask 022
export LC_ALL=C

# shellcheck source=/dev/null
. "$1"
program=$(dirname "$0")
mkdir -p "$STATE" || exit 1
find "$TEXTFILES" -maxdepth 1 -name '.rpc_node.*' -mmin +5 -delete
out=$(mktemp "$TEXTFILES/.rpc_node.XXXXXX") || exit 1
trap 'rm -f "$out"' EXIT
exec 3>&1 >"$out"
now=$(date +%s)

cat "$program/node-metrics.help"

# Since when, in seconds since 1970, from Docker's text; 0 for never.
seconds() { case $1 in 0001-* | '') echo 0 ;; *) date -d "$1" +%s ;; esac; }

# A value of a flat JSON text: its first occurrence. Sets `value`, empty if there is none.
value() {
  value=${2#*\""$1"\":}
  if [ "$value" = "$2" ]; then value=''; return; fi
  value=${value# }
  value=${value#\"}
  value=${value%%[\",\}]*}
}

# Asks for a block by JSON-RPC: sets number, hash and made. Arguments: address, which one.
block() {
  number='' hash='' made=''
  question='{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["'$2'",false]}'
  answer=$(printf '%s\n' "$1" | "$program/probe" 5 300000 "$question" 2>/dev/null)
  value hash "$answer"
  hash=$value
  value number "$answer"
  case $value in 0x*) number=$((value)) ;; *) return 1 ;; esac
  value timestamp "$answer"
  case $value in 0x*) made=$((value)) ;; *) return 1 ;; esac
  [ -n "$hash" ]
}

hex() { printf '0x%x' "$1"; }

# A block of the state database: sets number, hash, made and written. Argument: a condition.
stored() {
  number='' hash='' made='' written=''
  columns='block_num, block_hash, floor(extract(epoch from received_at)), floor(extract(epoch from created_at))'
  row=$(timeout 10 docker exec state-db psql -XqAt -F ' ' -U "$STATE_USER" -d "$STATE_DATABASE" -c \
    "select $columns from state.l2block where $1 order by block_num desc limit 1" 2>/dev/null) || return 1
  # shellcheck disable=SC2086
  set -- $row
  [ $# -eq 4 ] || return 1
  number=$1 hash=$2 made=$3 written=$4
}

containers() {
  # A question would start a stopped engine.
  if ! systemctl is-active --quiet docker.service; then
    echo 'rpc_node_docker_up 0'
    engine=''
    return
  fi
  echo 'rpc_node_docker_up 1'
  engine=1
  format='{{.Name}} {{.State.Status}} {{.RestartCount}} {{.State.ExitCode}} {{.State.StartedAt}} {{.Image}} {{.Config.Image}} {{if .State.Health}}{{.State.Health.Status}}{{else}}none{{end}}'
  # shellcheck disable=SC2086
  inspected=$(docker container inspect --format "$format" $CONTAINERS 2>/dev/null)
  for wanted in $CONTAINERS; do
    running=0
    while read -r name status restarts code since id image health; do
      [ "$name" = "/$wanted" ] || continue
      [ "$status" != running ] || running=1
      [ "$wanted" != sync ] || sync_since=$since sync_status=$status
      labels="container=\"$wanted\""
      echo "rpc_node_container_info{$labels,status=\"$status\",health=\"$health\",image=\"$image\",id=\"$id\"} 1"
      echo "rpc_node_container_restarts_total{$labels} $restarts"
      echo "rpc_node_container_exit_code{$labels} $code"
      echo "rpc_node_container_started_seconds{$labels} $(seconds "$since")"
    done <<END
$inspected
END
    echo "rpc_node_container_running{container=\"$wanted\"} $running"
  done
}

# A halted synchronizer logs it every few seconds; one kind of halt ends by itself, and is logged as such.
halted() {
  [ "${sync_status-}" = running ] || return 0
  lines=$(timeout 15 docker logs --since 3m --tail 1000 --timestamps sync 2>&1 |
    grep -iE 'halting (the )?sync' | grep -viE '\(no blocking\)|just for' | tail -n 1)
  halted=0
  if [ -n "$lines" ] && [ "$(seconds "${lines%% *}")" -ge "$(seconds "$sync_since")" ]; then halted=1; fi
  echo "rpc_node_synchronizer_halted $halted"
}

chain() {
  [ -n "$SEQUENCER" ] || return 0
  there='' here=''
  if block "$SEQUENCER" latest; then
    there=$number there_hash=$hash
    echo "rpc_node_block{source=\"sequencer\"} $number"
    echo "rpc_node_block_made_seconds{source=\"sequencer\"} $made"
  fi
  echo "rpc_node_chain_up{source=\"sequencer\"} $([ -n "$there" ] && echo 1 || echo 0)"
  written=''
  if [ -n "$OWN" ]; then block "$OWN" latest; else [ -n "$engine" ] && stored true; fi && here=$number here_hash=$hash
  echo "rpc_node_chain_up{source=\"own\"} $([ -n "$here" ] && echo 1 || echo 0)"
  [ -n "$here" ] || return 0
  echo "rpc_node_block{source=\"own\"} $here"
  echo "rpc_node_block_made_seconds{source=\"own\"} $made"
  [ -n "$there" ] || return 0
  echo "rpc_node_lag_blocks $((there - here))"
  lag=0 since=$written
  # Both have blocks up to the lower height: their hashes are compared there.
  if [ "$here" -lt "$there" ]; then
    if block "$SEQUENCER" "$(hex $((here + 1)))"; then
      # A host that catches up is not late by the age of its blocks.
      if [ -n "$since" ] && [ "$since" -gt "$made" ]; then made=$since; fi
      lag=$((now > made ? now - made : 0))
    fi
    block "$SEQUENCER" "$(hex "$here")" && there_hash=$hash
  elif [ "$here" -gt "$there" ]; then
    if [ -n "$OWN" ]; then block "$OWN" "$(hex "$there")"; else stored "block_num = $there"; fi && here_hash=$hash
  fi
  echo "rpc_node_lag_seconds $lag"
  [ -z "$hash" ] || echo "rpc_node_hash_same $([ "$here_hash" = "$there_hash" ] && echo 1 || echo 0)"
}

layer1() {
  [ -n "$LAYER1" ] || return 0
  known=$STATE/layer1
  if [ -z "$(find "$known" -newermt '-55 seconds' 2>/dev/null)" ]; then
    question='{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
    value result "$(printf '%s\n' "$LAYER1" | "$program/probe" 5 20000 "$question" 2>/dev/null)"
    case $value in 0x*) echo $((value)) ;; *) echo ;; esac >"$known"
  fi
  read -r number <"$known"
  echo "rpc_node_layer1_up $([ -n "$number" ] && echo 1 || echo 0)"
  [ -z "$number" ] || echo "rpc_node_layer1_block $number"
}

clock() {
  if tracking=$(timeout 10 chronyc -c -n tracking 2>/dev/null); then
    old=$IFS
    IFS=,
    # shellcheck disable=SC2086
    set -- $tracking
    IFS=$old
    shift "$(($# < 4 ? 0 : 4))"
    echo "rpc_node_clock_offset_seconds ${1:-0}"
    case $tracking in *'Not synchronised' | *,,*) echo 'rpc_node_clock_synchronised 0' ;; *) echo 'rpc_node_clock_synchronised 1' ;; esac
  else
    case $(timedatectl show --property=NTPSynchronized --value 2>/dev/null) in
      yes) echo 'rpc_node_clock_synchronised 1' ;;
      *) echo 'rpc_node_clock_synchronised 0' ;;
    esac
  fi
}

certificates() {
  for path in $CERTIFICATES; do
    end=$(openssl x509 -noout -enddate -in "$path" 2>/dev/null)
    # One that cannot be read counts as ended.
    echo "rpc_node_certificate_end_seconds{path=\"$path\"} $(seconds "${end#notAfter=}")"
  done
}

engine=''
if [ -n "$CONTAINERS" ]; then
  containers
  halted
fi
chain
layer1
clock
certificates
echo "rpc_node_metrics_seconds $(($(date +%s) - now))"
chmod 0644 "$out"
mv "$out" "$TEXTFILES/rpc_node.prom"
