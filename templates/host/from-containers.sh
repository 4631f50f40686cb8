#!/bin/sh
# Asks servers from this host, and from one short-lived container, as the containers of a deployment see them. It pulls no image, and leaves
# nothing. Prints one line for each answer, in an order that does not change:
#   until REASON              nothing can be asked yet
#   container WORD...         a line of ask-servers.sh, asked in the container
#   container code CODE       the container could not be asked; Docker's words are in other lines
#   host WORD...              as of the container, asked on the host, which logs in nowhere
#   named NUMBER              /etc/hosts of the host has this name
#
# Standard input: as ask-servers.sh has it.
# Arguments: time limit of each question in seconds, the text of ask-servers.sh, the network of the deployment and its
# wanted subnet, the image of PostgreSQL.
limit=$1 ask=$2 network=$3 subnet=$4 image=$5

if ! systemctl is-active --quiet docker.service; then
  echo 'until docker is running'
  exit
fi
# Before another image is pulled, that of the running database does as well.
if ! docker image inspect "$image" >/dev/null 2>&1; then image=$(docker container inspect --format '{{.Image}}' pool-db 2>/dev/null); fi
if [ -z "$image" ]; then
  echo 'until the image of PostgreSQL is there'
  exit
fi
# A network that is not there yet, or that has to be made again: the default one is in its place.
made=$(docker network inspect --format '{{index .Labels "rpc-playbooks.subnet"}}' "$network" 2>/dev/null) || made=none
[ "$made" = "$subnet" ] || network=bridge

servers=$(cat)
printf '%s\n' "$servers" | {
  number=0
  while read -r host _; do
    number=$((number + 1))
    while read -r address names; do
      case $address in '#'*) continue ;; esac
      for name in ${names%%#*}; do
        [ "$name" != "$host" ] || echo "named $number"
      done
    done </etc/hosts
  done
} | sort -u

{
  printf '%s\n' "$servers" | cut -d ' ' -f 1,2 | bash -c "$ask" ask-servers "$limit" 2>/dev/null | sed 's/^/host /' &
  {
    printf '%s\n' "$servers" |
      timeout $((limit * 3 + 20)) docker run --rm --interactive --pull never --read-only --log-driver none --network "$network" \
        --tmpfs /var/lib/postgresql/data --entrypoint bash "$image" -c "$ask" ask-servers "$limit" 2>&1
    code=$?
    # 126 and 127: the image has no bash.
    case $code in 0 | 126 | 127) ;; *) echo "code $code" ;; esac
  } | sed 's/^/container /'
  wait
} | sort
