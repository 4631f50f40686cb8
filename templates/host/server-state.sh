#!/bin/sh
# Prints what the data directory of a database server says, which need not run: `none`, or whether it is one of a `primary` or a `standby`,
# its state (1 and 2 are a clean end) and its newest checkpoint, in bytes of its log. Argument: the directory.
set -eu
control=$1/global/pg_control
[ -e "$control" ] || { echo none; exit 0; }
kind=primary
[ ! -e "$1/standby.signal" ] || kind=standby
# Version of the file, that of the catalogs, state; and the position, as PostgreSQL 13 to 16 have them.
# shellcheck disable=SC2046
set -- $(od -An -v -tu4 -j8 -N12 "$control") $(od -An -v -tu8 -j32 -N8 "$control")
[ "$1" = 1300 ] || { echo "pg_control of version $1 is unknown" >&2; exit 1; }
echo "$kind $3 $4"
