#!/bin/sh
# A function for scripts that write metrics. They are installed with this file before them.

# Puts a file into a folder, as the owner of the folder: names on the way to it, or in it, may be another user's, and root would follow a
# link. Arguments: the file, the folder, the name there.
# shellcheck disable=SC2016 # for the shell of the owner
hand_over() (
  cd -P "$2" && [ "$PWD" = "$2" ] || exit
  setpriv --reuid="$(stat -c %u .)" --regid="$(stat -c %g .)" --clear-groups \
    sh -c 'umask 022 && cat >".$1.new" && mv -f -T ".$1.new" "$1"' sh "$3" <"$1"
)
