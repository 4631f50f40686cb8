#!/bin/sh
# Sends a test alert to one receiver by the running Alertmanager, and waits until the receiver took it. Arguments: Alertmanager's
# port, the receiver, the number of its integrations. On standard error: why it was not taken, as Alertmanager logs it.
set -u
api=http://127.0.0.1:$1
receiver=$2
wanted=$3

# Notifications that were tried, less those that failed.
taken() {
  curl --noproxy '*' -sS -m 10 "$api/metrics" | awk '
    /^alertmanager_notification_requests_total/ { sum += $2 }
    /^alertmanager_notification_requests_failed_total/ { sum -= $2 }
    END { print sum + 0 }'
}

ready=''
for _ in $(seq 20); do
  if curl --noproxy '*' -sS -f -m 10 "$api/-/ready" >/dev/null 2>&1; then ready=1; break; fi
  sleep 1
done
if [ -z "$ready" ]; then echo 'Alertmanager does not answer' >&2; exit 1; fi

before=$(taken)
started=$(date '+%Y-%m-%d %H:%M:%S')
end=$(date -u -d '+1 minute' +%Y-%m-%dT%H:%M:%SZ)
# Its labels are new each time: Alertmanager does not repeat what was sent before.
curl --noproxy '*' -sS -f -m 10 -H 'Content-Type: application/json' "$api/api/v2/alerts" -o /dev/null -d '[{
  "labels": {"alertname": "TestAlert", "receiver": "'"$receiver"'", "severity": "warning", "instance": "'"$(uname -n)"'", "test": "'"$(date +%s%N)"'"},
  "annotations": {"summary": "A test: alerts of this deployment reach '"$receiver"'", "description": "Nothing has to be done."},
  "endsAt": "'"$end"'"}]' || exit 1

reasons() {
  journalctl --quiet --no-pager -o cat -u prometheus-alertmanager --since "$started" |
    grep -E "receiver=\"?${receiver}[\" ]|err=\"${receiver}/" | grep -o 'err=.*' | tail -n 1
}

for _ in $(seq 30); do
  sleep 1
  why=$(reasons)
  if [ -n "$why" ]; then echo "$why" >&2; exit 1; fi
  if [ "$(($(taken) - before))" -ge "$wanted" ]; then exit 0; fi
done
echo 'no answer within 30 s' >&2
exit 1
