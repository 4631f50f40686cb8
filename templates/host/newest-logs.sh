#!/bin/sh
# Asks a JSON-RPC server for its height, and then for the logs of so many blocks up to it. Prints the last answer, unchanged: without a
# height, the answer to the first question.
#
# Standard input: the URL, as providers put a key into it.
# Arguments: the script probe.sh, time limits of both questions in seconds, longest answer in bytes, for how many seconds HTTP 429 is asked
# again, number of blocks, address of a contract.
export LC_ALL=C
probe=$1
limit=$2
limit_of_logs=$3
length=$4
patience=$5
blocks=$6
address=$7
IFS= read -r url

# Arguments: time limit, method, parameters
ask() {
  printf '%s\n' "$url" '{"jsonrpc":"2.0","method":"'"$2"'","params":['"$3"'],"id":1}' |
    sh -c "$probe" probe "$1" "$length" "$patience"
}

head=$(ask "$limit" eth_blockNumber '')
height=$(printf '%s\n' "$head" | tr ',' '\n' | tr '{' '\n' | tr '}' '\n' | sed -n 's/^ *"result" *: *"\(0x[0-9a-fA-F]\{1,15\}\)" *$/\1/p' | head -n 1)
if [ -z "$height" ]; then
  printf '%s\n' "$head"
  exit
fi
first=$((height - blocks))
[ "$first" -ge 0 ] || first=0
ask "$limit_of_logs" eth_getLogs "$(printf '{"fromBlock":"0x%x","toBlock":"%s","address":"%s"}' "$first" "$height" "$address")"
