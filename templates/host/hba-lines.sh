#!/bin/sh
# Functions for our lines in the pg_hba.conf of the container state-db. The last words of each say whose it is: ` # rpc-node NAME`. The
# other lines are somebody else's, and stay. Needs `fail`, `sql`, $hba, the file, and $lines, ours without those words.
# shellcheck disable=SC2154 # the script sets them

# Prints our lines. Argument: the name.
hba_lines() { docker exec state-db sed -n "s/ # rpc-node $1\$//p" "$hba"; }

# A run may have been killed before the server was asked to read the file.
check_hba_is_read() {
  [ "$(sql -c "select modification <= pg_conf_load_time() from pg_stat_file('$hba')")" = t ] || fail 'pg_hba.conf has changed since PostgreSQL read it'
}

# Puts our lines before or after the others, and has the server read them. The file is replaced by rename: after a kill it is the old one or
# the new one. With an empty one nobody could log in. Arguments: the name; first or last.
put_hba_lines() {
  marked=$(printf '%s\n' "$lines" | sed "/./s/\$/ # rpc-node $1/")
  # Standard input of the shell in the container may end too early, so it gets the number of lines.
  count=$(printf '%s\n' "$marked" | sed '/./!d' | wc -l)
  # PostgreSQL knows times of files in whole seconds: this change is to be after the last reading.
  sleep 1
  # shellcheck disable=SC2016 # it is for the shell in the container
  docker exec -i --user postgres state-db sh -ec '
    put() { [ -z "$1" ] || printf "%s\n" "$1"; }
    ours=$(cat)
    [ "$(put "$ours" | wc -l)" -eq "$4" ]
    file=$(readlink -f "$1")
    new=$file.rpc-node
    kept=$(sed "/ # rpc-node $2\$/d" "$file")
    rm -f "$new"
    umask 077
    if [ "$3" = first ]; then put "$ours"; put "$kept"; else put "$kept"; put "$ours"; fi >"$new"
    chmod "$(stat -c %a "$file")" "$new"
    sync "$new"
    mv -f "$new" "$file"' sh "$hba" "$1" "$2" "$count" <<HBA
$marked
HBA
  sql -c 'select pg_reload_conf()' >/dev/null
}
