#!/bin/sh
# Scheduled check mode, on a controller: writes what it found for node_exporter's textfile collector. A check that could not run says
# so, and says nothing about drift.
#   drift-check NODE PROJECT INVENTORY USER EVERY TEXTFILES [OPTION...]
# NODE is the program node, PROJECT the folder of the playbooks, INVENTORY a file, USER runs the check, EVERY is the time between two in
# seconds, TEXTFILES the folder of the collector, OPTIONs are further ones of playbooks/deploy.mjs.
set -u
umask 022
export LC_ALL=C
node=$1 project=$2 inventory=$3 user=$4 every=$5 textfiles=$6
shift 6
name=$(basename "$inventory" .yaml | tr -c 'A-Za-z0-9_\n-' _)
# The name in events and journals may hold anything else.
events=$(mktemp) && out=$(mktemp) || exit 1
trap 'rm -f "$events" "$out"' EXIT

cd "$project" || exit 1
as_user "$user" "$node" node_modules/zx/build/cli.js playbooks/deploy.mjs --inventory "$inventory" --check --json "$@" >"$events"
code=$?
finished=$(grep '"type":"run-finished"' "$events")
ok=0
case $code in
  0 | 1 | 2) [ -z "$finished" ] || ok=1 ;;
  # Some hosts are unreachable. The others were checked.
  4) ;;
  *) finished='' ;;
esac
{
  echo '# HELP rpc_node_drift_check_seconds When scheduled check mode last ran, seconds since 1970.'
  echo '# TYPE rpc_node_drift_check_seconds gauge'
  echo "rpc_node_drift_check_seconds{inventory=\"$name\"} $(date +%s)"
  echo '# HELP rpc_node_drift_check_ok Whether it could check every host.'
  echo '# TYPE rpc_node_drift_check_ok gauge'
  echo "rpc_node_drift_check_ok{inventory=\"$name\"} $ok"
  echo '# HELP rpc_node_drift_resources Tasks of a host that a run would change, or that fail.'
  echo '# TYPE rpc_node_drift_resources gauge'
  printf '%s\n' "$finished" | grep -o '"host":"[^"]*","counts":{[^}]*},"seconds":[^,]*,"unreachable":false' |
    sed 's/.*"host":"\([^"]*\)","counts":{\([^}]*\)}.*/\1,\2/' |
    while IFS=, read -r host counts; do
      number=0
      for count in $(printf '%s\n' "$counts" | tr ',' '\n' | sed -n 's/^"\(pending\|unknown\|failed\)"://p'); do
        number=$((number + count))
      done
      echo "rpc_node_drift_resources{inventory=\"$name\",host=\"$host\"} $number"
    done
  echo '# HELP rpc_node_drift_every_seconds How often it should run.'
  echo '# TYPE rpc_node_drift_every_seconds gauge'
  # On a full disk the file is cut: the former stays.
  echo "rpc_node_drift_every_seconds{inventory=\"$name\"} $every" || exit 1
} >"$out"
hand_over "$out" "$textfiles" "rpc_node_drift_$name.prom"
[ "$ok" = 1 ] || echo "the check of $inventory could not run to its end: exit code $code" >&2
