import { expect, test } from 'vitest';
import type { ContainerState } from '../../host/host.ts';
import { Output } from '../../host/output.ts';
import { shell } from '../../host/shell.ts';
import { fakeHost, runningContainer } from '../testing/fake-host.ts';
import {
  ContainerEnded,
  composeService,
  configHashLabel,
  containerDifferences,
  ensureContainerRuns,
  startDifferences,
} from './compose-service.ts';

const running: ContainerState = { ...runningContainer, labels: { [configHashLabel]: 'current' } };

test.each([
  [undefined, [{ what: 'container', was: 'absent', wanted: 'running' }]],
  [running, []],
  [{ ...running, status: 'exited', exitCode: 3 }, [{ what: 'container', was: 'exited with 3', wanted: 'running' }]],
  [{ ...running, status: 'restarting' }, [{ what: 'container', was: 'restarting', wanted: 'running' }]],
  [{ ...running, labels: {} }, [{ what: 'configuration', was: 'unlabelled', wanted: 'current' }]],
  [
    { ...running, status: 'created', labels: { [configHashLabel]: 'former' } },
    [
      { what: 'container', was: 'created', wanted: 'running' },
      { what: 'configuration', was: 'former', wanted: 'current' },
    ],
  ],
])('each difference of a container is reported: %#', (state, differences) => {
  expect(containerDifferences(state, 'current')).toEqual(differences);
});

test('a known exit code is explained', () => {
  const { message } = new ContainerEnded('prover', { status: 'exited', exitCode: 132, restartCount: 0 }, '');
  expect(message).toBe(
    'container prover is exited, exit code 132 (illegal instruction: the processor lacks what the program was built for, as avx2, bmi2 or adx)',
  );
});

test('a container that started before a file changed may have read the old content', () => {
  const state = { status: 'running', startedAt: '2026-01-01T00:00:10.5Z' };
  const at = (text: string) => Date.parse(text) / 1000;
  const files = [
    { path: '/opt/old', modified: at('2026-01-01T00:00:10.4Z') },
    { path: '/opt/new', modified: at('2026-01-01T00:00:10.6Z') },
  ];
  expect(startDifferences(state, files)).toEqual([
    { what: 'started', was: 'before /opt/new changed', wanted: 'after it' },
  ]);
  expect(startDifferences({ ...state, status: 'exited' }, files)).toEqual([]);
  expect(startDifferences(undefined, files)).toEqual([]);
});

test('a killed or missing container is named with its last output', () => {
  expect(new ContainerEnded('prover', { status: 'exited', exitCode: 137, restartCount: 0 }, 'Killed').message).toBe(
    'container prover is exited, exit code 137 (killed, most often for want of memory)\nKilled',
  );
  expect(new ContainerEnded('sync', undefined, '').message).toBe('container sync does not exist');
});

const sync = composeService({
  directory: '/opt/node',
  service: 'sync',
  container: 'sync',
  configHash: 'current',
  readsAtStart: [],
});

/** A host with a container in these states in turn, then always the last one; and docker's subcommand of each change. */
function hostWith(...states: (ContainerState | undefined)[]) {
  const changes: string[] = [];
  const host = fakeHost([[/^docker logs /, 'no config\n']], {
    container: async () => (states.length > 1 ? states.shift() : states[0]),
    run: shell(async (command) => {
      changes.push(/docker (?:stop|restart)|up --detach/.exec(command)?.[0] ?? command);
      return new Output(0, Buffer.alloc(0), '');
    }),
  });
  return { host, changes };
}

test.each<[what: string, found: Partial<ContainerState> | undefined, changes: string[]]>([
  ['absent', undefined, ['up --detach']],
  ['made and never started', { status: 'created' }, ['up --detach']],
  ['stopped', { status: 'exited' }, ['up --detach']],
  ['restarted by Docker again and again', { status: 'restarting', restartCount: 7 }, ['docker stop', 'up --detach']],
  ['the same, at a moment when it runs', { restartCount: 7 }, ['docker stop', 'up --detach']],
  ['paused', { status: 'paused' }, ['docker stop', 'up --detach']],
])('a container is started fresh from any state: %s', async (_, found, expected) => {
  const { host, changes } = hostWith(found && { ...running, ...found }, running);
  await sync.apply(host);
  expect(changes).toEqual(expected);
});

test('a container that ends right after its start is a failure with its last output, also while Docker restarts it', async () => {
  const restarting = { ...running, status: 'restarting', exitCode: 3, restartCount: 2 };
  await expect(sync.apply(hostWith(undefined, restarting).host)).rejects.toThrow(
    /^container sync is restarting, exit code 3\nno config$/,
  );
  await expect(sync.apply(hostWith(undefined, { ...running, restartCount: 1 }).host)).rejects.toThrow(
    /^container sync does not stay up, restarts by Docker: 1\nno config$/,
  );
});

test('a container whose last restart by Docker is long ago is waited for', async () => {
  await ensureContainerRuns(hostWith({ ...running, restartCount: 1 }).host, 'sync');
});
