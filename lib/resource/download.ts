import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import type { Progress, Reader } from '../host/host.ts';
import { quote } from '../host/quote.ts';
import { jobDirectory, runInUnit } from './job.ts';
import { type Difference, drift, ok, type Resource, type Verdict } from './resource.ts';

interface Source {
  readonly url: string;
  readonly path: string;
  readonly sha256: string;
}

/** A file to be fetched by the host itself. */
export interface Download {
  /** @param path where it goes; its directory has to be there */
  to(path: string): {
    /** @param hex what its SHA-256 has to be */
    sha256(hex: string): Resource;
  };
}

/**
 * A file that the host fetches by HTTP. The work is a systemd unit of its own that outlives the connection, goes on where it broke
 * off, checks the SHA-256 and only then gives the file its name. That it was checked is kept beside it, in PATH.verified, so that
 * hundreds of gigabytes are hashed once.
 */
export function download(url: string): Download {
  return { to: (path) => ({ sha256: (hex) => make({ url, path, sha256: hex }) }) };
}

function make(source: Source): Resource {
  const { url, path } = source;
  const unit = unitOf(path);
  return {
    name: `${path} is downloaded`,
    check: (host) => look(host, source),
    apply: async (host) => {
      await runInUnit(host, {
        unit,
        title: `download ${url} to ${path}`,
        script: downloadScript(source, `${jobDirectory}/${unit}.status`),
        progress: (reader) => progressOf(reader, source, unit),
      });
    },
  };
}

async function look(host: Reader, { path, sha256, url }: Source): Promise<Verdict> {
  const [file, proof] = await Promise.all([host.stat(path), host.read(`${path}.verified`)]);
  if (!file) return drift([{ what: 'file', was: 'absent', wanted: url }]);
  const differences = proofDifferences(proof?.toString() ?? '', file, sha256);
  return differences.length === 0 ? ok : drift(differences);
}

/**
 * Whether the note beside a file still speaks of this file and of the wanted content.
 *
 * @param note `SHA256 SIZE MTIME` as the download left it
 */
export function proofDifferences(
  note: string,
  file: { readonly size: number; readonly modified: number },
  sha256: string,
): readonly Difference[] {
  const [hash = '', size, modified] = note.trim().split(' ');
  if (size !== String(file.size) || modified !== String(Math.floor(file.modified))) {
    return [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${sha256}` }];
  }
  return hash === sha256 ? [] : [{ what: 'SHA-256', was: hash, wanted: sha256 }];
}

/** Two files of one name in different directories are two units. */
function unitOf(path: string): string {
  const place = createHash('sha256').update(path).digest('hex').slice(0, 8);
  return `rpc-playbooks-download-${basename(path).replace(/[^A-Za-z0-9_.-]/g, '_')}-${place}`;
}

async function progressOf(host: Reader, { path }: Source, unit: string): Promise<Progress | undefined> {
  const [status, part] = await Promise.all([host.read(`${jobDirectory}/${unit}.status`), host.stat(`${path}.part`)]);
  const [phase, total = ''] = status?.toString().trim().split(' ') ?? [];
  if (phase === 'verifying') return { what: `verifying ${basename(path)}` };
  if (phase !== 'downloading') return undefined;
  const size = /^\d+$/.test(total) ? { total: Number(total) } : {};
  return { what: `downloading ${basename(path)}`, done: part?.size ?? 0, ...size, unit: 'bytes' };
}

/**
 * The work itself. A part is continued only when the server still has the same file (length, entity tag, date); a file that was
 * continued and turns out wrong is fetched once more from its beginning, before it is called corrupted.
 */
export function downloadScript({ url, path, sha256 }: Source, status: string): string {
  return `set -u
url=${quote(url)}
path=${quote(path)}
directory=${quote(dirname(path))}
want=${quote(sha256)}
status=${quote(status)}
part=$path.part

fail() { printf '%s\\n' "$*" >&2; exit 1; }
say() { printf '%s\\n' "$*" >"$status.new" && mv -f "$status.new" "$status"; }
size_of() { if [ -e "$1" ]; then stat -c %s "$1"; else echo 0; fi; }
sum_of() { say verifying; sha256sum <"$1" | cut -d' ' -f1; }
note() { stat -c "$want %s %Y" "$path" >"$path.verified.new" && mv -f "$path.verified.new" "$path.verified"; }

command -v curl >/dev/null || fail 'curl is not installed'
[ -d "$directory" ] || fail "$directory is no directory"

if [ -e "$path" ]; then
  found=$(sum_of "$path")
  if [ "$found" = "$want" ]; then note; exit 0; fi
  [ -e "$path.verified" ] || fail "$path was not put there by this tool and is not what the inventory means: SHA-256 $found, wanted $want. Move it away, or correct the inventory"
fi

headers=$(curl --silent --fail --location --head --connect-timeout 30 --max-time 60 -- "$url" | tr -d '\\r')
total=$(printf '%s\\n' "$headers" | awk 'toupper($1) ~ /^HTTP\\// { n = "" } tolower($1) == "content-length:" { n = $2 } END { print n }')
# A shell may run commands that stand where it computes with a number.
case $total in *[!0-9]* | ????????????????*) fail "$url tells no size that could be one: $total" ;; esac
version=$(printf '%s\\n' "$headers" | awk 'tolower($1) ~ /^(content-length|etag|last-modified):$/ { printf "%s;", $0 }')
printf '%s\\n' "$url $version" >"$part.of.new"
cmp -s "$part.of.new" "$part.of" || rm -f "$part"
mv -f "$part.of.new" "$part.of"

continued=$(size_of "$part")
if [ -n "$total" ]; then
  free=$(df -B1 --output=avail "$directory" | tail -n 1)
  [ $((total - continued)) -le "$free" ] || fail "not enough room in $directory for $url: $((total - continued)) bytes needed, $free free"
fi

say downloading "$total"
tries=0
while :; do
  have=$(size_of "$part")
  if [ -n "$total" ] && [ "$have" -ge "$total" ]; then break; fi
  http=$(curl --silent --show-error --fail --location --connect-timeout 30 --speed-limit 1 --speed-time 120 \\
    --continue-at - --output "$part" --write-out '%{http_code}' -- "$url")
  code=$?
  [ "$code" -eq 0 ] && break
  # A part that is complete already, where the server did not tell its length.
  [ -z "$total" ] && [ "$have" -gt 0 ] && [ "$http" = 416 ] && break
  # The server cannot continue a download.
  if [ "$code" -eq 33 ] || [ "$code" -eq 36 ]; then rm -f "$part"; fi
  case $http in
    408 | 416 | 429) ;;
    4*) fail "$url answers $http" ;;
  esac
  if [ "$(size_of "$part")" -gt "$have" ]; then tries=0; fi
  tries=$((tries + 1))
  [ "$tries" -lt 10 ] || fail "$url breaks off at $(size_of "$part") of \${total:-an unknown number of} bytes (curl exit code $code, HTTP $http)"
  sleep "$tries"
done

found=$(sum_of "$part")
if [ "$found" != "$want" ]; then
  if [ "$continued" -gt 0 ]; then rm -f "$part"; exec /bin/sh "$0"; fi
  fail "$url is corrupted, or not the file that the inventory means: SHA-256 $found, wanted $want ($(size_of "$part") bytes)"
fi
chmod 0644 "$part"
sync "$part" 2>/dev/null || :
mv -f "$part" "$path"
note
rm -f "$part.of" "$status"
`;
}
