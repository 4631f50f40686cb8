import type { Stat } from '../host.ts';
import { readScript, withArguments } from '../script.ts';
import type { VectorRead } from './batch.ts';
import { checkPath, requireProgram } from './path.ts';

const script = readScript(new URL('stat.sh', import.meta.url));

/** One `stat` over all paths. */
export const statRead: VectorRead<string, Stat | undefined> = {
  name: 'stat',
  id: checkPath,
  path: (path) => path,
  command: (paths) => withArguments(script, [paths]),
  answers(output, paths) {
    requireProgram('stat', output);
    const lines = output.stdout.split('\n');
    const gap = lines.indexOf('');
    const targets = new Map(
      lines.slice(gap + 1, -1).map((line) => {
        const space = line.indexOf(' ');
        return [paths[Number(line.slice(0, space))], line.slice(space + 1)];
      }),
    );
    const found = new Map<string, Stat | Error>(
      lines.slice(0, gap).flatMap((line) => parseLine(line, targets)),
    );
    for (const path of paths) {
      const error = found.has(path) ? undefined : errorOf(path, output.stderr);
      if (error) found.set(path, error);
    }
    return found;
  },
  absent: () => undefined,
};

/** The error of stat for a path that is not simply missing: a stale mount, a broken disk. */
function errorOf(path: string, stderr: string): Error | undefined {
  const line = stderr.split('\n').find((text) => text.includes(path));
  if (line === undefined || /No such file or directory|Not a directory/.test(line)) return undefined;
  return new Error(line.trim());
}

/** A line in the format of stat.sh. */
function parseLine(line: string, targets: ReadonlyMap<string | undefined, string>): [string, Stat][] {
  const [, hex = '', uid, gid, size, seconds, time = '', owner = '', group = '', path] =
    /^([0-9a-f]+) (\d+) (\d+) (\d+) (-?\d+) ([^|]*)\|([^:]*):([^:]*):(.*)$/.exec(line) ?? [];
  if (path === undefined) return [];
  const mode = Number.parseInt(hex, 16);
  const target = targets.get(path);
  const stat: Stat = {
    type: types.get(mode & 0o170000) ?? 'other',
    mode: mode & 0o7777,
    owner,
    group,
    uid: Number(uid),
    gid: Number(gid),
    size: Number(size),
    modified: Number(seconds) + Number(`0${/\.\d+/.exec(time)?.[0] ?? ''}`),
    ...(target === undefined ? {} : { target }),
  };
  return [[path, stat]];
}

/** The file type bits of st_mode, as stat(2) has them. */
const types: ReadonlyMap<number, Stat['type']> = new Map([
  [0o100000, 'file'],
  [0o040000, 'directory'],
  [0o120000, 'link'],
]);
