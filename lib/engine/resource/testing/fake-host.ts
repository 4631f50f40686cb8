import type { ReadyChange } from '../../host/changes/changes-script.ts';
import type { ChangesMade, ChangesOptions } from '../../host/changes/make-changes.ts';
import type { CommandOptions, Reader, Word } from '../../host/host.ts';
import { CommandFailed, Output } from '../../host/output.ts';
import { shell } from '../../host/shell.ts';
import { ownFailure, type Step } from '../../host/step.ts';
import type { TestHost } from './test-host.ts';

/** The output of a command, or its failure. */
export type Answer =
  | string
  | { readonly exitCode: number; readonly stdout?: string; readonly stderr?: string };

/** A host in memory. */
interface FakeHost extends TestHost {
  /** Makes a step of a change that is no command. */
  place(step: Exclude<Step, { readonly do: 'run' }>): unknown;
}

/**
 * A host for tests. Each command gets the answer of the first pattern that it matches, or fails
 * with `not found`.
 *
 * @param more answers to the reads that are not commands
 */
export function fakeHost(
  answers: readonly (readonly [RegExp, Answer])[],
  more: Partial<FakeHost> = {},
): FakeHost {
  const answer = async (command: string) => {
    const found = answers.find(([pattern]) => pattern.test(command))?.[1] ?? {
      exitCode: 127,
      stderr: 'not found',
    };
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
    place: () => {},
    makeChanges(changes, options) {
      const ended = made(this, changes, options);
      return { ended, readerFor: () => readerAfter(ended, this) };
    },
    progress: () => {},
    sleep: async (_seconds, until) => until,
    ...more,
  };
}

/** For tests: what a condition for every host gets where no other host can be reached. */
export const alone = () => undefined;

async function made(
  host: FakeHost,
  changes: readonly ReadyChange[],
  { started = () => {}, stop }: ChangesOptions = {},
): Promise<ChangesMade> {
  for (const [at, { steps }] of changes.entries()) {
    if (stop?.aborted) return { made: at };
    started(at);
    for (const step of steps) {
      try {
        if (step.do === 'run') await host.run(step)([step.command] as unknown as TemplateStringsArray);
        else await host.place(step);
      } catch (error) {
        return { made: at, error: ownFailure(step, error) };
      }
    }
  }
  return { made: changes.length };
}

/** A reader whose reads wait for changes, as those of one request do. */
function readerAfter(ended: Promise<unknown>, host: Reader): Reader {
  const after =
    <Given extends readonly unknown[], T>(read: (...given: Given) => Promise<T>) =>
    (...given: Given) =>
      ended.then(() => read(...given));
  const tag = after((pieces: TemplateStringsArray, ...words: readonly Word[]) => host.$(pieces, ...words));
  const $ = (first: TemplateStringsArray | CommandOptions, ...words: readonly Word[]) =>
    'raw' in first ? tag(first, ...words) : after(host.$(first));
  return {
    name: host.name,
    $: $ as Reader['$'],
    stat: after(host.stat),
    sha256: after(host.sha256),
    compare: after(host.compare),
    read: after(host.read),
    package: after(host.package),
    unit: after(host.unit),
    container: after(host.container),
    sql: after(host.sql),
  };
}

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
