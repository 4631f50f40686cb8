#!/bin/sh
# Writes what is known of this host's node for node_exporter's textfile collector. Run by a systemd timer; it reads only.
# It judges as playbooks/status.mjs does: the same questions, the same marks of a halt.
#
# Settings, from the file given as the first argument:
#   CONTAINERS   names of the containers that belong here
#   SEQUENCER    address of the trusted sequencer; empty: this host has no chain
#   OWN          address of this host's JSON-RPC; empty: its chain is in the state database
#   LAYER1       address of layer 1; empty: not asked. It is asked once a minute, because providers count requests
#   PROVIDERS    where HAProxy on this host says which provider of layer 1 is used; empty or not set: there is one
#   STATE_USER, STATE_DATABASE   of the state database
#   PSQL         PostgreSQL's client
#   REPLICA      not empty, if it is there: that database follows another one
#   CERTIFICATES paths of certificates to watch
#   FIREWALL     what the last look at the rules of the firewall has found
#   TEXTFILES    folder of the textfile collector
#   STATE        folder for what is kept between two runs
set -u
umask 022
export LC_ALL=C

# shellcheck source=/dev/null
. "$1"
program=$(dirname "$0")
mkdir -p "$STATE" || exit 1
find "$STATE" -maxdepth 1 -name '.rpc_node.*' -mmin +5 -delete
out=$(mktemp "$STATE/.rpc_node.XXXXXX") || exit 1
trap 'rm -f "$out"' EXIT
exec >"$out"
now=$(date +%s)

cat "$program/node-metrics.help"

# Since when, in seconds since 1970, from Docker's text; 0 for never.
seconds() { case $1 in 0001-* | '') echo 0 ;; *) date -d "$1" +%s ;; esac; }

# Asks the Docker engine. Its client would cost five times as much, each 15 s.
engine() { curl -s -m 10 --unix-socket /run/docker.sock "$@" 2>/dev/null; }

# Sends a request of JSON-RPC. Arguments: address, method, parameters.
send() {
  printf '%s\n' "$1" '{"jsonrpc":"2.0","id":1,"method":"'"$2"'","params":['"$3"']}' | "$program/probe" 5 300000 2>/dev/null
}

# Asks by JSON-RPC, as send. Prints the numbers and hashes of the answer, each as NAME VALUE. Nothing else of it may reach arithmetic: a
# shell ends at a text there, or runs a command in it.
ask() {
  send "$@" | tr ',{}' '[\n*]' | sed -n 's/^ *"\([a-z]*\)": *"\(0x[0-9a-fA-F]\{1,64\}\)".*/\1 \2/p'
}

# Asks for a block: sets number, hash and made. Arguments: address, which one.
block() {
  number='' hash='' made=''
  while read -r key value; do
    case $key:$value in
      hash:*) hash=$value ;;
      # More than a shell counts to.
      *:0x????????????????*) ;;
      number:*) number=$((value)) ;;
      timestamp:*) made=$((value)) ;;
    esac
  done <<END
$(ask "$1" eth_getBlockByNumber "\"$2\",false")
END
  [ -n "$number" ] && [ -n "$made" ] && [ -n "$hash" ]
}

# Whether json-rpc executes a call of nothing. Blocks come from the state database, also where its prover hangs.
executes() {
  send "$OWN" eth_call '{"to":"0x0000000000000000000000000000000000000000"},"latest"' | grep -q '"result": *"0x'
}

hex() { printf '0x%x' "$1"; }

# Asks the state database by the socket in its container, as a client there would, without the engine's work. Argument: the query.
query() {
  printf '%s\n' "$1" | timeout 10 "$PSQL" -h "/proc/$state_pid/root/run/postgresql" -p 5432 -XqAt -F ' ' \
    -U "$STATE_USER" -d "$STATE_DATABASE" -f - 2>/dev/null
}

# A block of the state database: sets number, hash, made and written. Argument: a condition.
stored() {
  number='' hash='' made='' written=''
  columns='block_num, block_hash, floor(extract(epoch from received_at)), floor(extract(epoch from created_at))'
  row=$(query "select $columns from state.l2block where $1 order by block_num desc limit 1") || return 1
  # shellcheck disable=SC2086
  set -- $row
  [ $# -eq 4 ] || return 1
  number=$1 hash=$2 made=$3 written=$4
}

# Reads what the engine says of each container, one a line, in the order of CONTAINERS.
described() {
  set --
  for wanted in $CONTAINERS; do set -- "$@" "http://docker/containers/$wanted/json"; done
  engine "$@" | awk '
    function value(text, key) {
      if (!match(text, "\"" key "\": *\"?[^\",}]*")) return "none"
      text = substr(text, RSTART, RLENGTH)
      sub(/^[^:]*: *"?/, "", text)
      return text == "" ? "none" : text
    }
    function after(key) { at = index($0, key); return at ? substr($0, at) : "" }
    {
      state = after("\"State\":")
      config = after("\"Config\":{")
      print value(state, "Status"), value(state, "Pid"), value(state, "RestartCount"), value(state, "ExitCode"), \
        value(state, "StartedAt"), value(state, "Image"), value(config, "Image"), value(after("\"Health\":{"), "Status")
    }'
}

containers() {
  # A question would start a stopped engine.
  if ! systemctl is-active --quiet docker.service; then
    echo 'rpc_node_docker_up 0'
    return
  fi
  echo 'rpc_node_docker_up 1'
  for wanted in $CONTAINERS; do
    running=0
    read -r status pid restarts code since id image health
    if [ "$status" = running ]; then
      running=1
      case $wanted in sync) sync_since=$since ;; state-db) state_pid=$pid ;; esac
    fi
    echo "rpc_node_container_running{container=\"$wanted\"} $running"
    [ "$status" != none ] || continue
    labels="container=\"$wanted\""
    echo "rpc_node_container_info{$labels,status=\"$status\",health=\"$health\",image=\"$image\",id=\"$id\"} 1"
    echo "rpc_node_container_restarts_total{$labels} $restarts"
    echo "rpc_node_container_exit_code{$labels} $code"
    echo "rpc_node_container_started_seconds{$labels} $(seconds "$since")"
  done <<END
$(described)
END
}

# A halted synchronizer logs it every few seconds; one kind of halt ends by itself, and is logged as such.
halted() {
  [ -n "$sync_since" ] || return 0
  line=$(engine "http://docker/containers/sync/logs?stdout=1&stderr=1&timestamps=1&tail=1000&since=$((now - 180))" |
    grep -aoiE '20[0-9]{2}-[0-9T:.-]+Z .*halting (the )?sync.*' | grep -aviE '\(no blocking\)|just for' | tail -n 1)
  halted=0
  if [ -n "$line" ] && [ "$(seconds "${line%% *}")" -ge "$(seconds "$sync_since")" ]; then halted=1; fi
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
  if [ -n "$OWN" ]; then block "$OWN" latest; else [ -n "$state_pid" ] && stored true; fi && here=$number here_hash=$hash
  echo "rpc_node_chain_up{source=\"own\"} $([ -n "$here" ] && echo 1 || echo 0)"
  [ -n "$here" ] || return 0
  [ -z "$OWN" ] || echo "rpc_node_executes_calls $(executes && echo 1 || echo 0)"
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

replica() {
  [ -n "${REPLICA-}" ] && [ -n "$state_pid" ] || return 0
  row=$(query "$(cat "$program/replica.sql")") || return 0
  # shellcheck disable=SC2086
  set -- $row
  [ $# -eq 5 ] || return 0
  echo "rpc_node_replica_receiving $2"
  echo "rpc_node_replica_behind_bytes $3"
  echo "rpc_node_replica_behind_seconds $4"
  echo "rpc_node_replica_cancelled_queries_total $5"
}

layer1() {
  [ -n "$LAYER1" ] || return 0
  known=$STATE/layer1
  if [ -z "$(find "$known" -newermt '-55 seconds' 2>/dev/null)" ]; then
    number=$(ask "$LAYER1" eth_blockNumber '' | sed -n 's/^result //p' | head -n 1)
    case $number in '' | 0x????????????????*) echo ;; *) echo $((number)) ;; esac >"$known"
  fi
  read -r number <"$known"
  echo "rpc_node_layer1_up $([ -n "$number" ] && echo 1 || echo 0)"
  [ -z "$number" ] || echo "rpc_node_layer1_block $number"
}

# Of HAProxy's answer, one provider a line: its host, whether it is used, and whether it is usable.
providers() {
  [ -n "${PROVIDERS-}" ] || return 0
  curl -s -m 5 "$PROVIDERS" 2>/dev/null |
    sed 's/{"provider"/\n&/g' | sed -n 's/^{"provider":"\([^"\\]*\)","used":\([a-z]*\),"usable":\([a-z]*\),.*/\1 \2 \3/p' |
    while read -r provider used usable; do
      echo "rpc_node_layer1_provider_used{provider=\"$provider\"} $([ "$used" = true ] && echo 1 || echo 0)"
      echo "rpc_node_layer1_provider_usable{provider=\"$provider\"} $([ "$usable" = true ] && echo 1 || echo 0)"
    done
}

clock() {
  if tracking=$(timeout 10 chronyc -c -n tracking 2>/dev/null); then
    old=$IFS
    IFS=,
    # shellcheck disable=SC2086
    set -- $tracking
    IFS=$old
    shift "$(($# < 3 ? 0 : 3))"
    echo "rpc_node_clock_offset_seconds ${2:-0}"
    # Chrony says Normal for days after the last answer of its server. Three hours, as status has it.
    reference=${1%%.*}
    synchronised=1
    [ "$((now - ${reference:-0}))" -le 10800 ] || synchronised=0
    case $tracking in *'Not synchronised' | *,,*) synchronised=0 ;; esac
    echo "rpc_node_clock_synchronised $synchronised"
  else
    case $(timedatectl show --property=NTPSynchronized --value 2>/dev/null) in
      yes) echo 'rpc_node_clock_synchronised 1' ;;
      *) echo 'rpc_node_clock_synchronised 0' ;;
    esac
  fi
}

data() {
  [ -x "$program/data-disks" ] || return 0
  # A cause and what to do, each in a line.
  echo "rpc_node_data_missing $(($("$program/data-disks" problems 2>/dev/null | wc -l) / 2))"
}

arrays() {
  echo "rpc_node_arrays_degraded $("$program/degraded-arrays" /proc | wc -l)"
}

certificates() {
  for path in $CERTIFICATES; do
    end=$(openssl x509 -noout -enddate -in "$path" 2>/dev/null)
    # One that cannot be read counts as ended.
    echo "rpc_node_certificate_end_seconds{path=\"$path\"} $(seconds "${end#notAfter=}")"
  done
}

# Without the file nobody has loaded them since the boot.
firewall() {
  [ -r "$FIREWALL" ] || echo 'rpc_node_firewall_loaded 0'
  while read -r key value; do
    case $key in
      loaded) echo "rpc_node_firewall_loaded $value" ;;
      checked) echo "rpc_node_firewall_checked_seconds $value" ;;
      restored) echo "rpc_node_firewall_restored_total $value" ;;
      restored_at) echo "rpc_node_firewall_restored_seconds $value" ;;
    esac
  done <"$FIREWALL"
}

sync_since='' state_pid=''
if [ -n "$CONTAINERS" ]; then
  containers
  halted
fi
chain
replica
layer1
providers
clock
data
arrays
certificates
firewall 2>/dev/null
# On a full disk the file is cut: the former stays.
echo "rpc_node_metrics_seconds $(($(date +%s) - now))" || exit 1
hand_over "$out" "$TEXTFILES" rpc_node.prom
