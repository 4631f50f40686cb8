import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { account } from '../../file/account.ts';
import { parseJson } from '../../text/parse-json.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

const schema = z.object({
  /** Unique to a run. */
  token: z.string(),
  /** `user@machine`. */
  who: z.string(),
  /** Of this program, with `-dirty` where a file differs from it. */
  commit: z.string().optional(),
  /** Of this program, as `programVersion` gives it. */
  version: z.string().optional(),
  playbook: z.string(),
  inventory: z.string(),
  /** ISO 8601. */
  since: z.string(),
  process: z.object({
    pid: z.int(),
    /** In clock ticks since boot: another process may get the same pid later. */
    start: z.string(),
    /** Identifies the machine, its boot and the container. */
    machine: z.string(),
  }),
});

/** The holder of a lock. */
export type LockHolder = z.output<typeof schema>;

/**
 * This process, as the holder of a lock.
 *
 * @param now milliseconds since 1970
 */
export function thisHolder(playbook: string, inventory: string, now: number): LockHolder {
  let commit: string | undefined;
  let version: string | undefined;
  return {
    token: randomUUID(),
    // Asked for by a run that locks a host: not in check mode.
    get commit() {
      commit ??= git('describe', '--always', '--exclude=*', '--abbrev=12', '--dirty');
      return commit;
    },
    get version() {
      version ??= programVersion();
      return version;
    },
    who: `${account().username}@${hostname()}`,
    playbook,
    inventory,
    since: new Date(now).toISOString(),
    process: { pid: process.pid, start: startOf(process.pid) ?? '', machine: thisMachine() },
  };
}

/**
 * The version of this program. In a clone it ends with the last commit that changed the program,
 * as versions of the same number differ: `0.1.0+195c4c8a1f03`.
 */
export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const commit = git(
    'log',
    '-1',
    '--abbrev=12',
    '--format=%h',
    '--',
    'lib',
    'playbooks',
    'roles',
    'templates',
  );
  return commit ? `${version}+${commit}` : version;
}

/**
 * undefined where this is not a clone, but an installed package: the repository around it is
 * another one.
 */
function git(...words: readonly string[]): string | undefined {
  if (!existsSync(join(root, '.git'))) return undefined;
  try {
    return execFileSync('git', words, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** Parses a holder; undefined for any other text. */
export function parseHolder(text: string): LockHolder | undefined {
  return schema.safeParse(parseJson(text)).data;
}

/**
 * Whether a holder is known to be dead: it ran on this machine and its process is gone. Unknown on
 * other machines.
 */
export function isDead({ process: { pid, start, machine } }: LockHolder): boolean {
  return machine === thisMachine() && startOf(pid) !== start;
}

function thisMachine(): string {
  return [hostname(), read('/proc/sys/kernel/random/boot_id'), namespace()].join(' ');
}

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** Field 22 of proc(5) stat. The second field, a name in parentheses, may contain spaces. */
function startOf(pid: number): string | undefined {
  return read(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ')[19];
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
