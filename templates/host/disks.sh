#!/bin/sh
# Prints the file system of each path, as df does, and that of Docker's data. Of a path that is missing, that of the folder where it will be.
root=$(systemctl is-active --quiet docker.service && timeout 4 docker info --format '{{.DockerRootDir}}' 2>/dev/null)
for path in "$@" "$root"; do
  [ "$path" ] || continue
  while [ ! -e "$path" ]; do path=$(dirname "$path"); done
  df -P -k "$path" | tail -n 1
done
