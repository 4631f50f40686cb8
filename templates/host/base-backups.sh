#!/bin/sh
# Functions that find base backups in a repository. Barman writes the backup.info of one beside its files, and from version 3.13.2 on in a
# folder of its own; it reads both. They are put before the scripts that use them.

# Prints the backup.info of a base backup. Arguments: Barman's folder of the server, the name of the backup
info_of() { if [ -e "$1/meta/$2-backup.info" ]; then echo "$1/meta/$2-backup.info"; else echo "$1/base/$2/backup.info"; fi; }

# Prints the names of all base backups, the oldest first. Argument: Barman's folder of the server
list_bases() {
  for b_each in "$1"/base/*/; do
    b_each=$(basename "$b_each")
    [ ! -e "$(info_of "$1" "$b_each")" ] || echo "$b_each"
  done
}

# Prints the names of those that are whole, the oldest first. Argument: Barman's folder of the server
whole_bases() {
  for b_name in $(list_bases "$1"); do
    if grep -qx 'status=DONE' "$(info_of "$1" "$b_name")" 2>/dev/null; then echo "$b_name"; fi
  done
}
