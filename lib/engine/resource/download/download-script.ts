import { dirname } from 'node:path';
import { quote } from '../../host/quote.ts';
import { curlAddress } from '../network/web-address.ts';
import { byAria2 } from './download-by-aria2.ts';
import { byCurl } from './download-by-curl.ts';

/** As many as aria2 makes to one server. */
export const mostDownloadConnections = 16;

/** A server that is busy is left alone for as long as it says, but not for longer. Seconds. */
const longestPause = 300;

/** What is fetched, to where. */
export interface Source {
  readonly url: string;
  readonly path: string;
  readonly sha256: string;
  /** How many parts of it are fetched at the same time. */
  readonly connections: number;
}

/**
 * The work itself. A part is continued only by the program that began it, and only when the server still has the same file (length,
 * entity tag, date); a file that was continued and turns out wrong is fetched once more from its beginning, before it is called
 * corrupted. The address itself stands in no argument list, in no message and in no file that others can read, for its query may be
 * as good as a password.
 *
 * @param status where it says what it does: `downloading TOTAL`, by aria2 with the bytes that are here after it, or `verifying`
 */
export function downloadScript({ url, path, sha256, connections }: Source, status: string): string {
  const by = connections === 1 ? byCurl : byAria2(connections);
  return `set -u
url=${quote(url)}
shown=\${url%%\\?*}
path=${quote(path)}
directory=${quote(dirname(path))}
want=${quote(sha256)}
address=${quote(curlAddress(url))}
status=${quote(status)}
part=$path.part

fail() { printf '%s\\n' "$*" >&2; exit 1; }
say() { printf '%s\\n' "$*" >"$status.new" && mv -f "$status.new" "$status"; }
size_of() { if [ -e "$1" ]; then stat -c %s "$1"; else echo 0; fi; }
sum_of() { say verifying; sha256sum <"$1" | cut -d' ' -f1; }
# By the address on its standard input.
ask() {
  curl --silent --fail --location --globoff --connect-timeout 30 "$@" --config - <<END
$address
END
}
# Until the next try. What a busy server answered says for how long, in seconds or by a date.
pause() {
  pause=$tries
  after=
  case $http in 429 | 503) after=$(tr -d '\\r' <"$status.headers" | awk 'toupper($1) ~ /^HTTP\\// { n = "" } tolower($1) == "retry-after:" { sub(/^[^:]*: */, ""); n = $0 } END { print n }') ;; esac
  case $after in
    '') ;;
    *[!0-9]*) after=$(date -d "$after" +%s 2>/dev/null) && after=$((after - $(date +%s))) || after= ;;
    ????????*) after=${longestPause} ;;
  esac
  if [ -n "$after" ] && [ "$after" -gt "$pause" ]; then pause=$after; fi
  if [ "$pause" -gt ${longestPause} ]; then pause=${longestPause}; fi
  sleep "$pause"
}
# The file has its name. What aria2 noted of a part that curl then began anew goes, and what a run left that was killed here.
finish() { note; rm -f "$part.of" "$part.aria2" "$status" "$status".*; exit 0; }
note() { stat -c "$want %s %Y" "$path" >"$path.verified.new" && mv -f "$path.verified.new" "$path.verified"; }
${by.functions}
command -v curl >/dev/null || fail 'curl is not installed'
${by.needs}[ -d "$directory" ] || fail "$directory is no directory"

if [ -e "$path" ]; then
  found=$(sum_of "$path")
  if [ "$found" = "$want" ]; then finish; fi
  [ -e "$path.verified" ] || fail "$path was not put there by this tool and is not what the inventory means: SHA-256 $found, wanted $want. Move it away, or correct the inventory"
fi

headers=$(ask --head --max-time 60) || headers=
headers=$(printf '%s\\n' "$headers" | tr -d '\\r')
total=$(printf '%s\\n' "$headers" | awk 'toupper($1) ~ /^HTTP\\// { n = "" } tolower($1) == "content-length:" { n = $2 } END { print n }')
# A shell may run commands that stand where it computes with a number.
case $total in *[!0-9]* | ????????????????*) fail "$shown tells no size that could be one: $total" ;; esac
version=$(printf '%s\\n' "$headers" | awk 'tolower($1) ~ /^(content-length|etag|last-modified):$/ { printf "%s;", $0 }')
of="${by.mark}$url"
case $headers:$(cat "$part.of" 2>/dev/null) in
  # A server that does not answer now tells nothing against the part.
  ":$of "*) ;;
  *)
    rm -f "$part.of.new"
    (umask 077 && printf '%s\\n' "$of $version" >"$part.of.new")
    cmp -s "$part.of.new" "$part.of" || rm -f "$part"
    mv -f "$part.of.new" "$part.of" ;;
esac

continued=
${by.begin}if [ -n "$total" ]; then
  free=$(df -B1 --output=avail "$directory" | tail -n 1)
  [ $((total - held)) -le "$free" ] || fail "not enough room in $directory for $shown: $((total - held)) bytes needed, $free free"
fi

say downloading "$total"
${by.fetch}
# Of nothing to fetch, nothing is made.
[ -e "$part" ] || : >"$part"
found=$(sum_of "$part")
if [ "$found" != "$want" ]; then
  if [ -n "$continued" ]; then rm -f "$part"; exec /bin/sh "$0"; fi
  fail "$shown is corrupted, or not the file that the inventory means: SHA-256 $found, wanted $want ($(size_of "$part") bytes)"
fi
chmod 0644 "$part"
sync "$part" 2>/dev/null || :
mv -f "$part" "$path"
finish
`;
}
