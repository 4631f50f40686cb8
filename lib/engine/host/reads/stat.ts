import type { Stat } from '../host.ts';
import { quote } from '../quote.ts';
import type { Kind } from './batch.ts';
import { checkPath, programMissing, troubleWith } from './path.ts';

/** Understood by GNU and busybox alike. %Y has no fraction of a second, so that comes from %y. No name of a user holds a colon. */
const format = '%f %u %g %s %Y %y|%U:%G:%n';
const line = /^([0-9a-f]+) (\d+) (\d+) (\d+) (-?\d+) ([^|]*)\|([^:]*):([^:]*):(.*)$/;

/** One `stat` over all paths. What links point to follows after an empty line. */
export const statKind: Kind<string, Stat | undefined> = {
  name: 'stat',
  id: checkPath,
  command: (paths) => `set -- ${quote(paths)}
stat -c '${format}' -- "$@"
__c=$?
echo
__i=0
for __f do if [ -h "$__f" ];then echo "$__i $(readlink -- "$__f")";fi;__i=$((__i+1));done
exit $__c`,
  answers(output, paths) {
    if (programMissing(output.exitCode)) throw new Error(`stat: ${output.stderr.trim()}`);
    const [stats = '', links = ''] = splitOnce(output.stdout, /^$/m);
    const targets = new Map(
      links
        .split('\n')
        .filter(Boolean)
        .map((text) => {
          const [index, target = ''] = splitOnce(text, / /);
          return [paths[Number(index)], target];
        }),
    );
    const found = new Map<string, Stat | Error>();
    for (const text of stats.split('\n')) {
      const stat = parse(text, targets);
      if (stat) found.set(stat.path, stat.stat);
    }
    for (const path of paths) {
      const trouble = found.has(path) ? undefined : troubleWith(path, output.stderr);
      if (trouble) found.set(path, trouble);
    }
    return found;
  },
  absent: () => undefined,
};

function parse(
  text: string,
  targets: ReadonlyMap<string | undefined, string>,
): { path: string; stat: Stat } | undefined {
  const [, mode, uid, gid, size, seconds, time, owner, group, path] = line.exec(text) ?? [];
  if (mode === undefined || path === undefined || owner === undefined || group === undefined) return undefined;
  const bits = Number.parseInt(mode, 16);
  const target = targets.get(path);
  const stat: Stat = {
    type: typeOf(bits),
    mode: bits & 0o7777,
    owner,
    group,
    uid: Number(uid),
    gid: Number(gid),
    size: Number(size),
    modified: Number(seconds) + Number(`0${/\.\d+/.exec(time ?? '')?.[0] ?? ''}`),
    ...(target === undefined ? {} : { target }),
  };
  return { path, stat };
}

/** The file type bits of st_mode, as stat(2) has them. */
function typeOf(mode: number): Stat['type'] {
  switch (mode & 0o170000) {
    case 0o100000:
      return 'file';
    case 0o040000:
      return 'directory';
    case 0o120000:
      return 'link';
    default:
      return 'other';
  }
}

function splitOnce(text: string, at: RegExp): string[] {
  const match = at.exec(text);
  return match ? [text.slice(0, match.index), text.slice(match.index + Math.max(1, match[0].length))] : [text];
}
