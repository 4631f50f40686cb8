# shellcheck shell=sh
# Prints what systemd says of a unit when it has ended, or after some time. Arguments: the unit, the time in half seconds.
n=0
while [ "$n" -lt "$2" ]; do
  now=$(systemctl show --property InvocationID,ActiveState,Result,ExecMainStatus "$1.service")
  case $now in '' | *ActiveState=active* | *ActiveState=*ing*) sleep 0.5 ;; *) break ;; esac
  n=$((n + 1))
done
echo "$now"
