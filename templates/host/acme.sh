#!/bin/sh
# The certificate of a gateway, which certbot gets from an ACME server. Every command is without output, except `state` and failures.
#   acme state                            what there is, a value in each line: directory, by, names, valid, tried, served
#   acme placeholder                      what HAProxy starts with before a certificate was issued: the one given by hand, or a self-signed one
#   acme try DIRECTORY EMAIL BY NAME...   changes the DNS as for a certificate, which is then thrown away
#   acme issue DIRECTORY EMAIL BY NAME... gets a certificate, and keeps it new from now on (certbot.timer)
#   acme deployed                         HAProxy gets the issued certificate; certbot runs it after each issue and renewal
# BY is http, or the name of certbot's plugin for the DNS, with the seconds that it waits where they are not its own: rfc2136:120
set -eu
export LC_ALL=C
umask 077

product=$(basename "$(dirname "$0")")
folder=/etc/$product/gateway
socket=/run/haproxy/admin.sock
issued=/etc/letsencrypt/live/$product
renewal=/etc/letsencrypt/renewal/$product.conf
# Of the inventory.
credentials=$folder/dns.credentials
# Those with which the DNS was changed: certbot renews by them.
tried=$folder/dns.tried

# Whether HAProxy runs with the issued certificate, or would start with it.
is_served() {
  cat "$issued/fullchain.pem" "$issued/privkey.pem" | cmp -s - "$folder/acme.pem" || return 1
  [ -S "$socket" ] || return 0
  running=$(printf 'show ssl cert %s\n' "$folder/acme.pem" | socat -t 5 - "unix-connect:$socket" | sed -n 's/^Serial: //p')
  [ "serial=$running" = "$(openssl x509 -noout -serial -in "$issued/cert.pem")" ]
}

# How the certificate is renewed, in the words of BY.
renewed_by() {
  plugin=$(sed -n 's/^authenticator = //p' "$renewal")
  case $plugin in
    standalone) echo http ;;
    *)
      plugin=${plugin#dns-}
      echo "$plugin$(sed -n "s/^dns_${plugin}_propagation_seconds = /:/p" "$renewal")"
      ;;
  esac
}

# Without what certbot says on its way, and without its advice about its own options and a web server on this port.
certbot_quietly() {
  if said=$(AWS_SHARED_CREDENTIALS_FILE=$by_file certbot certonly --non-interactive --agree-tos --cert-name "$product" \
    --force-renewal --renew-with-new-domains "$@" 2>&1); then return; fi
  printf '%s\n' "$said" | sed -E '/^$|^Saving debug log|^Requesting|^Renewing|^Simulating|^Registering|^Account reg|^Waiting [0-9]|^Encountered exception during recovery|^Hint:|^Some challenges|^Ask for help|^- - -/d; s/^ +/  /' >&2
  return 1
}

case ${1-} in
  state)
    if cmp -s "$credentials" "$tried"; then echo 'tried yes'; fi
    [ -e "$issued/cert.pem" ] || exit 0
    sed -n 's/^server = /directory /p' "$renewal"
    echo "by $(renewed_by)"
    names=$(openssl x509 -noout -ext subjectAltName -in "$issued/cert.pem" | tr , '\n' | sed -n 's/^ *DNS://p' | sort | paste -s -d ' ')
    echo "names $names"
    if openssl x509 -noout -checkend 0 -in "$issued/cert.pem" >/dev/null; then echo 'valid yes'; fi
    if is_served; then echo 'served yes'; fi
    ;;
  placeholder)
    new=$(mktemp -d)
    if [ -e "$folder/tls.pem" ]; then
      cp "$folder/tls.pem" "$new/pem"
    else
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=placeholder \
        -keyout "$new/key" -out "$new/pem" 2>/dev/null
      cat "$new/key" >> "$new/pem"
    fi
    mv "$new/pem" "$folder/acme.pem"
    rm -rf "$new"
    ;;
  try | issue)
    verb=$1 directory=$2 email=$3 by=$4
    shift 4
    for name; do set -- "$@" -d "$name"; shift; done
    plugin=${by%%:*}
    if [ "$verb" = try ]; then by_file=$credentials; else by_file=$tried; fi
    case $by in
      http) set -- "$@" --standalone --http-01-address 127.0.0.1 --http-01-port 8402 ;;
      route53) set -- "$@" --dns-route53 ;;
      *) set -- "$@" "--dns-$plugin" "--dns-$plugin-credentials" "$by_file" ;;
    esac
    case $by in *:*) set -- "$@" "--dns-$plugin-propagation-seconds" "${by#*:}" ;; esac
    set -- "$@" --email "$email" --server "$directory"
    # An ACME server remembers for weeks what was shown to it, and then asks nothing. It forgets that for a dry run.
    if [ "$verb" = try ]; then
      certbot_quietly "$@" --dry-run
      cp "$credentials" "$tried.new"
      mv "$tried.new" "$tried"
    else
      certbot_quietly "$@" --deploy-hook "$0 deployed"
    fi
    ;;
  deployed)
    # By rename, so that HAProxy never reads a part of it.
    cat "$issued/fullchain.pem" "$issued/privkey.pem" > "$folder/.acme.pem"
    mv "$folder/.acme.pem" "$folder/acme.pem"
    systemctl --quiet is-active haproxy.service || exit 0
    systemctl reload haproxy.service
    # The new process takes over some moments later.
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
      if is_served; then exit; fi
      sleep 0.5
    done
    echo 'HAProxy does not take the issued certificate: see journalctl -u haproxy' >&2
    exit 1
    ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
