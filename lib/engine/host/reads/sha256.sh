# shellcheck shell=sh
# Arguments: paths of files. It follows sums.sh.
sums "$@"
