#!/bin/sh
# Installs packages of the distribution. Arguments: seconds to wait for another apt, seconds for one fetch of the package lists, a word
# with the packages that may be removed for them, and the names. The lists are fetched if they are a day old, older than their sources,
# or do not know a name.
patience=$1 fetch_limit=$2 replaced=$3
shift 3
export DEBIAN_FRONTEND=noninteractive
lists=/var/lib/apt/lists

fresh() {
  [ "$(find $lists -maxdepth 1 -name '*_Packages*' -print -quit)" ] || return
  [ "$(find $lists -maxdepth 0 -mmin -1440)" ] || return
  [ -z "$(find /etc/apt/sources.list /etc/apt/sources.list.d -newer $lists -print -quit 2>/dev/null)" ] || return
  for name do
    apt-cache policy "$name" | grep -q '^ *Candidate: [^(]' || return
  done
}

# apt has no time limit for the lock of the lists, and may wait forever on a connection that a proxy has closed. The next attempt keeps
# what is fetched already. Sets `said` where it fails.
update() {
  waited=0
  attempt=1
  while :; do
    said=$(timeout --kill-after=5 "$fetch_limit" apt-get -q update </dev/null 2>&1 >/dev/null)
    case $? in
      0) return ;;
      124 | 137)
        said="apt-get update: no end within $fetch_limit s"
        [ $attempt -lt 4 ] || return 1
        attempt=$((attempt + 1))
        ;;
      *)
        case $said in *'Could not get lock'* | *'Unable to lock'*) ;; *) return 1 ;; esac
        [ $waited -lt "$patience" ] || return 1
        waited=$((waited + 5))
        sleep 5
        ;;
    esac
  done
}

# Whether apt removes packages, and none but those that may go.
removes_replaced() {
  [ "$replaced" ] || return
  removed=$(apt-get -q -s --no-install-recommends install "$@" </dev/null 2>/dev/null | sed -n 's/^\(Remv\|Purg\) \([^ ]*\) .*/\2/p')
  for name in $removed; do
    case " $replaced " in *" $name "*) ;; *) return 1 ;; esac
  done
  [ "$removed" ]
}

# The lists may be newer than those of the plan. Without a confirmation apt downgrades nothing and changes nothing that is held, either.
install_all() {
  keep=--no-remove
  ! removes_replaced "$@" || keep=
  apt-get -q -y ${keep:+"$keep"} --no-install-recommends -o DPkg::Lock::Timeout="$patience" -o Dpkg::Options::=--force-confdef \
    -o Dpkg::Options::=--force-confold install "$@" </dev/null 2>&1
}

updated=1
fresh "$@" || update || updated=
output=$(install_all "$@") && exit
# An earlier installation was interrupted: dpkg demands that it is finished first.
case $output in
  *'dpkg --configure -a'*)
    dpkg --configure -a --force-confdef --force-confold </dev/null >/dev/null || exit
    output=$(install_all "$@") && exit
    ;;
esac
case $output in
  *'remove is disabled'*)
    printf 'apt would remove %s, so nothing was installed\n' \
      "$(printf '%s\n' "$output" | sed -n '/^The following packages will be REMOVED:/,/^[^ ]/s/^  *//p' | xargs)" >&2
    exit 1
    ;;
esac
printf '%s\n' "$output" | tail -n 6 >&2
# A broken source of somebody else is no reason to stop if the packages can be installed.
[ "$updated" ] || printf 'the package lists could not be fetched either: %s\n' "$said" >&2
exit 1
