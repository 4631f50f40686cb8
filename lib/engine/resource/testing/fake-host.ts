import type { Writer } from '../../host/host.ts';
import { CommandFailed, Output } from '../../host/output.ts';
import { shell } from '../../host/shell.ts';

/** What a command answers: what it prints, or how it fails. */
export type Told = string | { readonly exitCode: number; readonly stdout?: string; readonly stderr?: string };

/**
 * For tests of how a host's bad answers are told: a host that answers each command as the first pattern does that it matches,
 * and knows nothing of others.
 *
 * @param more what the host says to the reads that are no commands
 */
export function fakeHost(answers: readonly (readonly [RegExp, Told])[], more: Partial<Writer> = {}): Writer {
  const answer = async (command: string) => {
    const told = answers.find(([pattern]) => pattern.test(command))?.[1] ?? { exitCode: 127, stderr: 'not found' };
    if (typeof told === 'string') return new Output(0, Buffer.from(told), '');
    return new Output(told.exitCode, Buffer.from(told.stdout ?? ''), told.stderr ?? '');
  };
  return {
    name: 'h',
    $: shell(answer),
    run: shell(async (command, { allow = [0] }) => {
      const output = await answer(command);
      if (!allow.includes(output.exitCode)) throw new CommandFailed(command, output);
      return output;
    }),
    stat: async () => undefined,
    sha256: async () => undefined,
    compare: async () => ({ same: false, content: undefined }),
    read: async () => undefined,
    package: async () => ({ installed: false, version: undefined }),
    unit: async () => stoppedUnit,
    container: async () => undefined,
    sql: async () => ({ ok: false, error: 'no answer' }),
    write: async () => {},
    rewrite: async () => true,
    progress: () => {},
    sleep: async () => {},
    ...more,
  };
}

/** For tests: a unit that is there and does not run. */
export const stoppedUnit = {
  load: 'loaded',
  active: 'inactive',
  sub: 'dead',
  enabled: 'disabled',
  activeSince: 0,
  result: 'success',
  mainExitCode: 0,
} as const;

/** For tests: a file or directory as the tool makes them. */
export const rootsFile = {
  type: 'file',
  mode: 0o644,
  owner: 'root',
  group: 'root',
  uid: 0,
  gid: 0,
  size: 0,
  modified: 0,
} as const;

/** For tests: a container that runs. */
export const runningContainer = {
  id: 'a',
  image: 'b',
  running: true,
  status: 'running',
  health: undefined,
  exitCode: 0,
  restartCount: 0,
  startedAt: '2024-01-01T00:00:00Z',
  labels: {},
  cpuShares: 0,
  raw: {},
} as const;
