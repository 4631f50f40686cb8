#!/bin/sh
# What apt would do to install packages of the distribution. Arguments: the stamp of an answer, or nothing; the names. Changes nothing:
# apt's caches, which even a simulation writes, are left out. Prints the age of the package lists in days, a stamp of the files that the
# answer follows, and apt's own words. Ends with 3 where there are no lists; with 4, and without apt's words, where the stamp is the same,
# as the answer is then; and otherwise as apt-get.
same=$1
shift
lists=/var/lib/apt/lists
[ "$(find $lists -maxdepth 1 -name '*_Packages*' -print -quit)" ] || exit 3
# The time of the last change of each file, also behind links: reading lists of Debian takes apt more than a second of a processor. Dpkg
# notes a change in `updates` first.
stamp=$(find -L /etc/apt /var/lib/apt /var/lib/dpkg/status /var/lib/dpkg/updates -printf '%p %C@\n' 2>/dev/null | cksum | tr ' ' -)
echo $((($(date +%s) - $(stat -c %Y $lists)) / 86400)) "$stamp"
[ "$stamp" != "$same" ] || exit 4
# As in the installation, but what apt refuses there is shown as well.
timeout 50 apt-get -q -s --no-install-recommends -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
  --allow-downgrades --allow-change-held-packages --allow-remove-essential install "$@" </dev/null 2>&1
