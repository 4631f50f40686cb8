#!/bin/sh
# Finds the newest block of a chain here, and asks a JSON-RPC server elsewhere for its block of the same number. Prints number and
# hash of the block here, or an empty line if a database has none, and then the unchanged HTTP answer about the other.
#
# Standard input: the URL of the server elsewhere, as providers put a key into it.
# Arguments: the script probe.sh, time limit of a request in seconds, longest answer in bytes, for how many seconds HTTP 429 is asked again
# here; then the URL of a JSON-RPC server here, or the arguments of `docker exec` for a psql query that selects number (0x…) and hash.
probe=$1
limit=$2
length=$3
patience=$4
shift 4
IFS= read -r elsewhere

# Arguments: URL, number, for how many seconds HTTP 429 is asked again
block() {
  printf '%s\n' "$1" '{"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["'"$2"'",false],"id":1}' |
    sh -c "$probe" probe "$limit" "$length" "$3"
}

# A field of a block that holds hexadecimal digits.
field() {
  printf '%s\n' "$newest" | tr ',{}' '[\n*]' | sed -n "s/^ *\"$1\": *\"\(0x[0-9a-fA-F]*\)\"\$/\1/p" | head -n 1
}

case $1 in
  http://*)
    newest=$(block "$1" latest "$patience")
    number=$(field number)
    hash=$(field hash)
    if [ -z "$number" ]; then
      printf '%s\n' "$newest" | tail -n 1 >&2
      exit 1
    fi
    ;;
  *)
    newest=$(docker exec "$@") || exit 1
    number=${newest%% *}
    hash=${newest#* }
    ;;
esac
printf '%s\n' "$number${number:+ $hash}"
[ -z "$number" ] || block "$elsewhere" "$number" 0
