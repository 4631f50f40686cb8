#!/bin/sh
# What apt would do to install packages of the distribution. Arguments: the names. Changes nothing: apt's caches, which even a simulation
# writes, are left out. Prints the age of the package lists in seconds, and apt's own words. Ends with 3 where there are no lists,
# and otherwise as apt-get.
lists=/var/lib/apt/lists
[ "$(find $lists -maxdepth 1 -name '*_Packages*' -print -quit)" ] || exit 3
echo $(($(date +%s) - $(stat -c %Y $lists)))
# As in the installation, but what apt refuses there is shown as well.
timeout 50 apt-get -q -s --no-install-recommends -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
  --allow-downgrades --allow-change-held-packages --allow-remove-essential install "$@" </dev/null 2>&1
