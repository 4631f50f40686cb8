#!/bin/sh
# Keeps the rules of the firewall as the last deploy wrote them. Run by a timer, before each start of what the rules protect, and
# after a start of a program that removes the rules of others:
#   firewall RULES PREFIX
# It compares the kernel's rules with those that it has loaded, and loads them again if anything is missing. Nothing else is written.
#
#   RULES.v4, RULES.v6   lines for iptables-restore; one with @bridge stands for one line for each bridge of our networks, and one that
#                        ends with @only-with PATH counts on a host with that file
#   RULES.networks       names of these networks of Docker
#   PREFIX               begins the names of our chains
#
# Only the chains that the files name are emptied, and only the jumps to them are moved. Each family changes in one step.
set -eu
umask 022
export LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

rules=$1
prefix=$2
product=$(basename "$(dirname "$rules")")
# What was loaded since the boot, and since when it is there.
run=/run/$product/firewall
# At a boot the rules are loaded before the engine can be asked for its bridges: they keep their names.
known=/var/lib/$product/firewall/bridges
mkdir -p "$run"
exec 9>"$run/lock"
flock -w 120 9 || { echo "another run of $0 has not ended within 120 s" >&2; exit 1; }

# Prints a value of the state before this run. Argument: its name.
former() { sed -n "s/^$1 //p" "$run/state" 2>/dev/null || :; }

now=$(date +%s)
loaded=0
restored=$(former restored)
restored=${restored:-0}
restored_at=$(former restored_at)
missed=$(former missed)
flushed=''

# Whatever happens, what is known is there for the metrics and for `status`.
finish() {
  printf '%s\n' "loaded $loaded" "checked $now" "restored $restored" "restored_at ${restored_at:-0}" "missed $missed" >"$run/state.new"
  mv "$run/state.new" "$run/state"
  [ "$loaded" = 1 ] ||
    echo "The rules of the firewall in $rules.v4 and $rules.v6 are not loaded, and what they protect does not start without them." >&2
}
trap finish EXIT

# The engine is asked only while it runs: a question would start a stopped one.
bridges() {
  [ -s "$rules.networks" ] || return 0
  if systemctl is-active --quiet docker.service 2>/dev/null && found=$(asked); then
    if [ "$found" != "$(cat "$known" 2>/dev/null)" ]; then
      mkdir -p "$(dirname "$known")"
      printf '%s\n' "$found" >"$known.new"
      mv "$known.new" "$known"
    fi
  fi
  cat "$known" 2>/dev/null || :
}

# Prints the bridges of our networks, one a line. Fails if the engine does not answer.
asked() {
  while read -r name; do
    said=$(curl -s -m 10 -w '\n%{http_code}' --unix-socket /run/docker.sock "http://docker/networks/$name" 2>/dev/null) || return 1
    # There is no such network yet, or the engine has a fault of its own.
    case $said in *'
200') ;; *'
404') continue ;; *) return 1 ;; esac
    printf '%s' "$said" | awk '
      function value(key) {
        if (!match($0, "\"" key "\": *\"[A-Za-z0-9_.-]+\"")) return ""
        text = substr($0, RSTART, RLENGTH - 1)
        sub(/.*"/, "", text)
        return text
      }
      value("Driver") == "bridge" {
        bridge = value("com.docker.network.bridge.name")
        print bridge == "" ? "br-" substr(value("Id"), 1, 12) : bridge
      }'
  done <"$rules.networks"
}

# Prints the lines of a file as this host loads them.
expanded() {
  awk -v names="$names" '
    BEGIN { most = split(names, name) }
    / @only-with / {
      if ((getline line <$NF) < 0) next
      close($NF)
      sub(/ @only-with .*/, "")
    }
    !/@bridge/ { print; next }
    { for (at = 1; at <= most; at++) { line = $0; gsub(/@bridge/, name[at], line); print line } }' "$1"
}

# Prints what is missing in a listing, as the kernel has it now on standard input. First argument: a listing of our chains to compare
# with. Chains of others may do before our jumps what refuses packets, but let none through.
missing() {
  awk -v prefix="$prefix" '
    function passes(rule, outermost, way, to, at) {
      gsub(/"(\\.|[^"\\])*"/, "\"\"", rule)
      if (!match(rule, /(^| )-[jg] [^ ]+/)) return 0
      to = substr(rule, RSTART, RLENGTH)
      sub(/^ /, "", to)
      way = substr(to, 1, 2)
      to = substr(to, 4)
      if (way == "-g") return 1
      if (to == "RETURN") return outermost
      if (to ~ /^(DROP|REJECT|LOG|NFLOG)$/) return 0
      if (!(to in count)) return 1
      for (at = 1; at <= count[to]; at++) if (passes(rules[to, at], 0)) return 1
      return 0
    }
    function jump(from, to, at) {
      for (at = 1; at <= count[from] && rules[from, at] != "-j " to; at++) if (passes(rules[from, at], 1)) break
      if (at > count[from]) print "no jump from " from " to " to
      else if (rules[from, at] != "-j " to) print "in " from " before the jump to " to ": " rules[from, at]
    }
    !/^-[NPA] / { next }
    !now { wanted[$2] = wanted[$2] $0 "\n"; next }
    {
      count[$2] += 0
      present[$2] = present[$2] $0 "\n"
      if ($1 == "-A") rules[$2, ++count[$2]] = substr($0, length($2) + 5)
    }
    END {
      for (chain in wanted) {
        if (!(chain in present)) print "no chain " chain
        else if (present[chain] != wanted[chain]) print "other rules in " chain
      }
      jump("FORWARD", "DOCKER-USER")
      jump("DOCKER-USER", prefix)
      jump("INPUT", prefix "-INPUT")
    }' now=0 "$1" now=1 - | sort
}

# Of a listing on standard input, our chains. Argument: the rules.
ours() {
  awk '!now { if (sub(/^:/, "", $1)) ours[$1]; next } $2 in ours' now=0 "$1" now=1 -
}

# Whether a listing has as many rules in each of our chains as the file: each version of iptables writes them in its own way.
whole() {
  awk '
    !now { if (sub(/^:/, "", $1)) count[$1] += 0; else if ($1 == "-A") count[$2]++; next }
    $1 == "-N" { found[$2] += 0 }
    $1 == "-A" { found[$2]++ }
    END { for (chain in count) if (!(chain in found) || found[chain] != count[chain]) exit 1 }' now=0 "$1" now=1 "$2"
}

# Prints how the first chain leads to the second before it does anything else.
lead() {
  present=$("$command" --wait=60 -S "$1") || return 1
  [ "$(printf '%s\n' "$present" | sed -n '/^-A /{p;q;}')" != "-A $1 -j $2" ] || return 0
  printf '%s\n' "$present" | sed -n "s/^-A \($1 -j $2\)\$/-D \1/p"
  echo "-I $1 1 -j $2"
}

load() {
  # The engine uses the existing chain.
  "$command" --wait=60 -n -L DOCKER-USER >/dev/null 2>&1 || "$command" --wait=60 -N DOCKER-USER || return 1
  # Read first: iptables-restore holds the lock of the rules from its first line on.
  lines=$(
    echo '*filter' &&
      cat "$run/$version.wanted" &&
      lead FORWARD DOCKER-USER &&
      lead DOCKER-USER "$prefix" &&
      lead INPUT "$prefix-INPUT" &&
      echo COMMIT
  ) || return 1
  printf '%s\n' "$lines" | "$command-restore" --wait=60 --noflush || return 1
  listing=$("$command" --wait=60 -S) || return 1
  printf '%s\n' "$listing" | ours "$run/$version.wanted" >"$run/$version.listing.new"
  whole "$run/$version.wanted" "$run/$version.listing.new" || { echo "$command does not list all rules of $rules.$version" >&2; return 1; }
  left=$(printf '%s\n' "$listing" | missing "$run/$version.listing.new")
  [ -z "$left" ] || { echo "$command: $left" >&2; return 1; }
  mv "$run/$version.listing.new" "$run/$version.listing"
  mv "$run/$version.wanted" "$run/$version.loaded"
}

# Another program may change the same rules at the same moment.
reload() {
  tries=0
  until load; do
    tries=$((tries + 1))
    [ $tries -lt 5 ] || return 1
    sleep 1
  done
}

# Whether nothing else is missing than the jump that the engine itself moves while it sets up a network. Argument: what is missing.
is_engines() { [ -n "$1" ] && ! echo "$1" | grep -qv '^[^:]* to DOCKER-USER'; }

keep() {
  command=$1 version=$2
  expanded "$rules.$version" >"$run/$version.wanted"
  listing=$("$command" --wait=60 -S)
  # Without one they were not loaded since the boot.
  if [ -e "$run/$version.listing" ] && cmp -s "$run/$version.wanted" "$run/$version.loaded"; then
    reasons=$(printf '%s\n' "$listing" | missing "$run/$version.listing")
    tries=0
    while is_engines "$reasons" && [ $tries -lt 5 ]; do
      sleep 1
      tries=$((tries + 1))
      reasons=$("$command" --wait=60 -S | missing "$run/$version.listing")
    done
    [ -n "$reasons" ] || return 0
    reload
    flushed="$flushed${flushed:+; }$command: $(echo "$reasons" | paste -s -d ';' - | sed 's/;/; /g')"
  else
    reload
  fi
}

names=$(bridges)
keep iptables v4
# A kernel without IPv6 has no such file.
if [ -e /proc/net/if_inet6 ]; then keep ip6tables v6; fi
loaded=1
if [ -n "$flushed" ]; then
  restored=$((restored + 1))
  restored_at=$now
  missed=$flushed
  echo "Somebody else changed the rules of the firewall, and they are as before again: $missed"
fi
