#!/bin/sh
# Gets one small object of a registry of images, and changes nothing. Prints the answer with its headers. Without an answer it prints
# nothing, and the reason on standard error. Without curl it prints `connected`.
#
# A registry that asks for a token gets one for a reader without a name, as `docker pull` does:
# https://distribution.github.io/distribution/spec/auth/token/
#
# Standard input: a line with the URL.
# Arguments: the media type that is wanted, most bytes of the object, time limit in seconds, and the folder with Docker's certificates for
# this registry, if it has any
IFS= read -r url
accept=$1
longest=$2
limit=$3
certificates=$4
command -v curl >/dev/null || { echo connected; exit; }

# Docker pulls through its own proxy, if it has one, and knows nothing of the session's. A stopped engine is not asked: that would start it.
proxies=
if systemctl is-active --quiet docker.service; then
  proxies=$(docker info --format '{{.HTTPProxy}} {{.HTTPSProxy}} {{.NoProxy}}' 2>/dev/null)
fi
case $url in https:*) proxy=$(printf %s "$proxies" | cut -d ' ' -f 2) ;; *) proxy=${proxies%% *} ;; esac
direct=$(printf %s "$proxies" | cut -d ' ' -f 3)
[ -n "$proxy" ] || direct='*'

# A word of a configuration file of curl.
word() { printf '"%s"' "$(printf %s "$1" | sed 's/[\\"]/\\&/g')"; }

# Asks for a URL. Arguments: URL, token or nothing, further options.
get() {
  asked=$1
  token=$2
  shift 2
  [ ! -e "$certificates/ca.crt" ] || set -- "$@" --capath /etc/ssl/certs --cacert "$certificates/ca.crt"
  [ ! -e "$certificates/client.key" ] || set -- "$@" --cert "$certificates/client.cert" --key "$certificates/client.key"
  {
    printf 'url = '; word "$asked"; echo
    [ -z "$token" ] || { printf 'header = '; word "Authorization: Bearer $token"; echo; }
  } | curl --disable --proxy "$proxy" --noproxy "$direct" --silent --show-error --location --globoff --max-time "$limit" --max-filesize "$longest" \
    --header "Accept: $accept" --proto =http,https --config - "$@"
}

# A field of the registry's demand for a token.
field() { printf %s "$demand" | sed -n "s/.*[ ,]$1=\"\([^\"]*\)\".*/\1/p"; }

# The first answer has no body: an object may be larger than its headers say.
head=$(get "$url" '' --head) || exit 1
demand=$(printf '%s\n' "$head" | tr -d '\r' | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: *\([Bb]earer .*\)/\1/p' | tail -n 1)
token=
realm=$(field realm)
case $realm in
  http://* | https://*)
    case $realm in *\?*) mark='&' ;; *) mark='?' ;; esac
    answer=$(get "$realm${mark}service=$(field service)&scope=$(field scope)" '' --fail) || answer=
    token=$(printf %s "$answer" | tr -d '\n' | sed -n 's/.*"\(token\|access_token\)" *: *"\([^"]*\)".*/\2/p') ;;
esac
get "$url" "$token" --include | head -c $((longest + 32768))
