#!/bin/sh
# What the tool has made on a server. Its data, packages, images and the Docker engine do not count.
#   remove.sh list PRODUCT LABEL PREFIX FOLDER FILE...     names each thing in a line
#   remove.sh remove PRODUCT LABEL PREFIX FOLDER FILE...   removes all of them
# Containers have the LABEL, chains of rules begin with PREFIX, and FOLDER is removed if nothing but the FILEs is in it.
set -eu
export LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

verb=$1 product=$2 label=$3 prefix=$4 folder=$5
shift 5
systemd=/etc/systemd/system

containers() {
  if command -v docker >/dev/null; then docker ps --all --filter "label=$label" --format '{{.Names}}'; fi
}

existing() {
  for path; do if [ -e "$path" ] || [ -L "$path" ]; then echo "$path"; fi; done
}

units() { existing "$systemd/$product"-*.timer "$systemd/$product"-*.service; }
drop_ins() { existing "$systemd"/*.d/"$product"*.conf; }
folders() { existing "/usr/local/lib/$product" "/etc/$product" "/var/lib/$product/disk-alert" "/var/lib/$product/metrics" "/var/lib/$product/releases" "/var/lib/$product/firewall" "/run/$product/firewall"; }

chains() {
  if command -v "$1" >/dev/null; then "$1" --wait=60 -S 2>/dev/null | sed -n "s/^-N \(${prefix}[^ ]*\)\$/\1/p"; fi
}

case $verb in
  list)
    containers | sed 's/^/container /'
    { units; drop_ins; folders; existing "$@"; } | sed 's/^/file /'
    { chains iptables; chains ip6tables; } | sort -u | sed 's/^/rules /'
    ;;
  remove)
    names=$(containers)
    if [ -n "$names" ]; then
      # shellcheck disable=SC2086 # names of containers, without spaces
      networks=$(docker inspect --format '{{range $name, $_ := .NetworkSettings.Networks}}{{println $name}}{{end}}' $names | sort -u)
      # shellcheck disable=SC2086
      docker stop --time 120 $names >/dev/null
      # shellcheck disable=SC2086
      docker rm $names >/dev/null
      # Those of Docker's own, or with containers of somebody else, stay.
      for network in $networks; do docker network rm "$network" >/dev/null 2>&1 || true; done
    fi
    for path in $(units); do systemctl --quiet disable --now "$(basename "$path")" || true; rm -f "$path"; done
    for path in $(drop_ins); do
      # An exporter without our settings would listen to everybody. Other drop-ins are for units that are not ours.
      unit=$(basename "$(dirname "$path")" .d)
      case $unit,$path in
        docker.service,*) ;;
        *"/$product.conf") systemctl --quiet disable --now "$unit" || true ;;
      esac
      rm -f "$path"
    done
    systemctl daemon-reload
    for tool in iptables ip6tables; do
      ours=$(chains "$tool")
      [ -n "$ours" ] || continue
      for chain in $ours; do "$tool" --wait=60 -F "$chain"; done
      # What is left leads from chains of others to ours.
      "$tool" --wait=60 -S | sed -n "/ -j $prefix/s/^-A //p" | while read -r rule; do
        # shellcheck disable=SC2086 # its words
        "$tool" --wait=60 -D $rule
      done
      for chain in $ours; do "$tool" --wait=60 -X "$chain"; done
    done
    rm -f "$@"
    for path in $(folders); do rm -rf "$path"; done
    rmdir "$folder/downloads" "$folder" "/var/lib/$product" "/run/$product" 2>/dev/null || true
    ;;
esac
