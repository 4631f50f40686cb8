import type { FileAttributes } from './host.ts';
import { quote } from './quote.ts';

/** Exit code of a rewrite that met another content than the one that it was to replace, or nothing any more. */
export const changedSince = 75;

/**
 * Takes the content from standard input into a temporary file beside the target and renames it. mktemp makes that file 0600, the
 * owner is set before the mode (a change of owner takes set-user-id bits away), and a content that was cut off is not put in
 * place: when a connection dies, the host sees no more than the end of its input. A file that has this content already stays, and
 * gets its attributes: whoever goes by the time of its last change sees none. All in one trip.
 *
 * @param path already checked
 * @param size of the content, in bytes
 */
export function writeScript(path: string, size: number, { mode, owner, group }: FileAttributes): string {
  const cut = path.lastIndexOf('/');
  const directory = path.slice(0, cut) || '/';
  const owners = quote(`${owner}:${group}`);
  return `${fail}
__f=${quote(path)}
__d=${quote(directory)}
[ -d "$__d" ]||__fail "there is no directory $__d"
[ ! -d "$__f" ]||__fail "$__f is a directory, and is not replaced by a file"
[ ! -e "$__f" ]||[ -f "$__f" ]||[ -L "$__f" ]||__fail "$__f is neither file nor link, and is not replaced by a file"
__o=${owners} __m=${mode.toString(8)}
${receive(path.slice(cut + 1), size)}
if [ -f "$__f" ]&&[ ! -L "$__f" ]&&cmp -s "$__t" "$__f";then
chown "$__o" "$__f"&&chmod "$__m" "$__f"
exit
fi
${prepare}
${putInPlace}`;
}

/**
 * The same for a file that is there, whose mode and owner stay; of a link it is the target that changes. A file that is a mount
 * point of its own, as a container's /etc/hosts is, cannot be replaced by rename. That it still has the content that is replaced is
 * looked at twice: before the new one is sent, and when all that takes time is done.
 *
 * @param was SHA-256 of the content that is replaced, in hex
 */
export function rewriteScript(path: string, was: string, size: number): string {
  return `${fail}
__f=$(readlink -f ${quote(path)})||exit
[ -e "$__f" ]||exit ${changedSince}
[ -f "$__f" ]||__fail ${quote(path)}" is no file that could be changed"
__same(){ [ "$(sha256sum <"$__f")" = '${was}  -' ]||exit ${changedSince};}
__same
__d=\${__f%/*}
__d=\${__d:-/}
__o=$(stat -c %u:%g "$__f")&&__m=$(stat -c %a "$__f")||exit
${receive(path.slice(path.lastIndexOf('/') + 1), size)}
if mountpoint -q "$__f";then
__same
cat "$__t" >"$__f"
exit
fi
${prepare}
__same
${putInPlace}`;
}

const fail = `__fail(){ printf '%s\\n' "$1" >&2;exit 1;}`;

/** Standard input to $__t, beside what it is to become. */
function receive(name: string, size: number): string {
  return `__t=$(mktemp "\${__d%/}/"${quote(`.${name.slice(0, 200)}.XXXXXX`)})||exit
trap 'rm -f "$__t"' EXIT
trap 'exit 129' HUP INT TERM PIPE
cat >"$__t"||exit
__n=$(wc -c <"$__t")
[ "$__n" -eq ${size} ]||__fail "only $__n of ${size} bytes arrived"`;
}

const prepare = `chown "$__o" "$__t"||exit
chmod "$__m" "$__t"||exit
sync "$__t" 2>/dev/null`;

const putInPlace = `mv -f "$__t" "$__f"||exit
sync "$__d" 2>/dev/null
exit 0`;
