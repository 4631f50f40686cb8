#!/bin/sh
# Prints those names of migrations, one a line, that the node's program in an image does not hold: a program has all names of its own.
#   missing-migrations IMAGE PROGRAM NAME...
# Runs a container without a network from an image that is here already, and leaves nothing.
set -eu
image=$1
shift
# shellcheck disable=SC2016
exec docker run --rm --pull never --network none --read-only --entrypoint sh "$image" -c '
  program=$1
  shift
  [ -r "$program" ] || { echo "there is no $program in the image" >&2; exit 1; }
  for name; do grep -qF -- "$name" "$program" || echo "$name"; done' sh "$@"
