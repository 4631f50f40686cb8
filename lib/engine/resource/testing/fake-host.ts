import type { Writer } from '../../host/host.ts';
import { CommandFailed, Output } from '../../host/output.ts';
import { shell } from '../../host/shell.ts';

/** The output of a command, or its failure. */
export type Answer = string | { readonly exitCode: number; readonly stdout?: string; readonly stderr?: string };

/**
 * A host for tests. Each command gets the answer of the first pattern that it matches, or fails with `not found`.
 *
 * @param more answers to the reads that are not commands
 */
export function fakeHost(answers: readonly (readonly [RegExp, Answer])[], more: Partial<Writer> = {}): Writer {
  const answer = async (command: string) => {
    const found = answers.find(([pattern]) => pattern.test(command))?.[1] ?? { exitCode: 127, stderr: 'not found' };
    if (typeof found === 'string') return new Output(0, Buffer.from(found), '');
    return new Output(found.exitCode, Buffer.from(found.stdout ?? ''), found.stderr ?? '');
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
    make: async () => {},
    progress: () => {},
    sleep: async (_seconds, until) => until,
    ...more,
  };
}

/** For tests: what a condition for every host gets where no other host can be reached. */
export const alone = () => undefined;

/** For tests: a unit that exists and does not run. */
export const stoppedUnit = {
  load: 'loaded',
  active: 'inactive',
  sub: 'dead',
  enabled: 'disabled',
  activeSince: 0,
  needsReload: false,
} as const;

/** For tests: a file or directory with the attributes that the tool sets. */
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

/** For tests: a running container. */
export const runningContainer = {
  id: 'a',
  image: 'b',
  running: true,
  status: 'running',
  health: undefined,
  exitCode: 0,
  restartCount: 0,
  imageId: '',
  startedAt: '2024-01-01T00:00:00Z',
  labels: {},
  cpuShares: 0,
  raw: {},
} as const;
