#!/bin/sh
# Prints the file system of each path, as df does, and that of Docker's data. Of a path that is missing, that of the folder where it will be.
# The file docker-root.sh comes before this one.
root=$(systemctl is-active --quiet docker.service && docker_root)
for path in "$@" "$root"; do
  [ "$path" ] || continue
  while [ ! -e "$path" ]; do path=$(dirname "$path"); done
  df -P -k "$path" | tail -n 1
done
