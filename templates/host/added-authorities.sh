#!/bin/sh
# Prints `added` where this host trusts the certificate of an address by an authority that was added to it, and by none of its distribution.
# Without curl, or an added authority, it prints nothing.
#
# Standard input: the URL, as providers put a key into it. Arguments: the folder of added authorities, that of the distribution's, and the
# time limit in seconds.
IFS= read -r url
command -v curl >/dev/null || exit 0
[ "$(find "$1" -name '*.crt' -print -quit 2>/dev/null)" ] || exit 0
find "$2" -name '*.crt' -exec cat {} + |
  curl --disable --noproxy '*' --silent --max-time "$3" --output /dev/null --capath /dev/null --cacert /dev/stdin --config /dev/fd/3 3<<END
url = "$(printf '%s' "$url" | sed 's/[\\"]/\\&/g')"
END
# The certificate cannot be verified.
[ $? -ne 60 ] || echo added
