import { expect, test } from 'vitest';
import type { ContainerState } from '../../host/host.ts';
import { Output } from '../../host/output.ts';
import { shell } from '../../host/shell.ts';
import { driftOf } from '../resource.ts';
import { fakeHost, rootsFile, runningContainer, stoppedUnit } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { composeService, configHashLabel, ensureContainerRuns } from './compose-service.ts';

const running: ContainerState = { ...runningContainer, labels: { [configHashLabel]: 'current' } };
const definition = { directory: '/opt/node', service: 'sync', container: 'sync', configHash: 'current' };
const sync = composeService({ ...definition, readsAtStart: [] });
const engine = { unit: async () => ({ ...stoppedUnit, active: 'active' }) };

test.each([
  [undefined, [{ what: 'container', was: 'absent', wanted: 'running' }]],
  [running, []],
  [
    { ...running, status: 'exited', exitCode: 3 },
    [{ what: 'container', was: 'exited with 3', wanted: 'running' }],
  ],
  [{ ...running, status: 'restarting' }, [{ what: 'container', was: 'restarting', wanted: 'running' }]],
  [{ ...running, labels: {} }, [{ what: 'configuration', was: 'unlabelled', wanted: 'current' }]],
  [
    { ...running, status: 'created', labels: { [configHashLabel]: 'former' } },
    [
      { what: 'container', was: 'created', wanted: 'running' },
      { what: 'configuration', was: 'former', wanted: 'current' },
    ],
  ],
])('a container differs in what is not as it should be: %#', async (state, differences) => {
  const host = fakeHost([], { ...engine, container: async () => state });
  expect(await sync.check(host)).toMatchObject(driftOf(differences));
});

test('a container with an earlier label of the same configuration is left alone', async () => {
  const known = composeService({ ...definition, readsAtStart: [], earlierHashes: ['earlier', 'former'] });
  const check = (label: string) => {
    const state = { ...running, labels: { [configHashLabel]: label } };
    return known.check(fakeHost([], { ...engine, container: async () => state }));
  };
  expect(await check('former')).toEqual({ is: 'ok' });
  expect(await check('another')).toMatchObject({ is: 'drift' });
});

test('a container that runs another image than the pinned one differs in it', async () => {
  const pinned = composeService({ ...definition, readsAtStart: [], imageId: 'sha256:1' });
  const check = (imageId: string) =>
    pinned.check(fakeHost([], { ...engine, container: async () => ({ ...running, imageId }) }));
  expect(await check('sha256:1')).toEqual({ is: 'ok' });
  expect(await check('sha256:2')).toMatchObject({
    differences: [{ what: 'image', was: 'sha256:2', wanted: 'sha256:1' }],
  });
});

test('a container that was started before a file changed may have read what was there before', async () => {
  const modified = new Map([
    ['/opt/old', Date.parse('2026-01-01T00:00:10.4Z') / 1000],
    ['/opt/new', Date.parse('2026-01-01T00:00:10.6Z') / 1000],
  ]);
  const reader = composeService({ ...definition, readsAtStart: ['/opt/old', '/opt/new', '/opt/absent'] });
  const differences = async (found: ContainerState | undefined) => {
    const stat = async (path: string) => {
      const time = modified.get(path);
      return time === undefined ? undefined : { ...rootsFile, modified: time };
    };
    const verdict = await reader.check(fakeHost([], { ...engine, stat, container: async () => found }));
    return verdict.is === 'drift' ? verdict.differences : verdict;
  };
  const state = { ...running, startedAt: '2026-01-01T00:00:10.5Z' };
  expect(await differences(state)).toEqual([
    { what: 'started', was: 'before /opt/new changed', wanted: 'after it' },
  ]);
  expect(await differences({ ...state, status: 'exited' })).toEqual([
    { what: 'container', was: 'exited with 0', wanted: 'running' },
  ]);
  expect(await differences(undefined)).toEqual([{ what: 'container', was: 'absent', wanted: 'running' }]);
});

test.each<[found: Partial<ContainerState> | undefined, log: string, message: string]>([
  [
    { status: 'exited', exitCode: 132 },
    '',
    'container prover is exited, exit code 132 (illegal instruction: the processor lacks what the program was built for, such as avx2, bmi2 or adx)',
  ],
  [
    { status: 'exited', exitCode: 137 },
    'Killed\n',
    'container prover is exited, exit code 137 (killed, most often because memory ran out)\nKilled',
  ],
  [undefined, '', 'container prover does not exist'],
])(
  'a container that does not run is named with its exit code and its last words: %#',
  async (found, log, message) => {
    const container = async () => found && { ...running, ...found };
    const ended = ensureContainerRuns(fakeHost([[/^docker logs /, log]], { container }), 'prover');
    await expect(ended).rejects.toMatchObject({ message });
  },
);

/**
 * A host with a container in these states in turn, then always the last one; and docker's
 * subcommand of each change.
 */
function hostWith(...states: (ContainerState | undefined)[]) {
  const changes: string[] = [];
  const host = fakeHost([[/^docker logs /, 'no config\n']], {
    ...engine,
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
  [
    'restarted by Docker again and again',
    { status: 'restarting', restartCount: 7 },
    ['docker stop', 'up --detach'],
  ],
  ['the same, at a moment when it runs', { restartCount: 7, labels: {} }, ['docker stop', 'up --detach']],
  ['paused', { status: 'paused' }, ['docker stop', 'up --detach']],
])('a container is started fresh from any state: %s', async (_, found, expected) => {
  const { host, changes } = hostWith(found && { ...running, ...found }, running);
  await applyDrift(host, sync);
  expect(changes).toEqual(expected);
});

test('a container that ends right after its start is a failure with its last output, also while Docker restarts it', async () => {
  const restarting = { ...running, status: 'restarting', exitCode: 3, restartCount: 2 };
  await expect(applyDrift(hostWith(undefined, restarting).host, sync)).rejects.toThrow(
    /^container sync is restarting, exit code 3\nno config$/,
  );
  await expect(applyDrift(hostWith(undefined, { ...running, restartCount: 1 }).host, sync)).rejects.toThrow(
    /^container sync does not stay up, restarts by Docker: 1\nno config$/,
  );
});

test('a container whose last restart by Docker is long ago is waited for', async () => {
  await ensureContainerRuns(hostWith({ ...running, restartCount: 1 }).host, 'sync');
});

test('a prover that met that of another host at its start comes back by itself; one that ends again and again does not', async () => {
  const log = 'creating get_tree_nodes: ERROR:  tuple concurrently updated\n';
  const ends = (found: Partial<ContainerState>) => {
    const host = fakeHost([[/^docker logs /, log]], { container: async () => ({ ...running, ...found }) });
    return ensureContainerRuns(host, 'prover', { restarts: 0 });
  };
  await ends({ restartCount: 1 });
  await ends({ status: 'restarting', exitCode: 255, restartCount: 1 });
  await expect(ends({ status: 'restarting', exitCode: 255, restartCount: 4 })).rejects.toThrow(
    /^container prover is restarting, exit code 255\ncreating get_tree_nodes: ERROR: {2}tuple concurrently updated$/,
  );
  await expect(ends({ status: 'exited', exitCode: 255 })).rejects.toThrow(/^container prover is exited/);
});

test('a prover that met another one long ago, and ends now for another reason, is a failure', async () => {
  const older = 'creating get_tree_nodes: ERROR:  tuple concurrently updated\n';
  const now = 'no config\n';
  const container = async () => ({ ...running, restartCount: 1 });
  const host = fakeHost(
    [
      [/^docker logs --since 5m /, now],
      [/^docker logs /, older + now],
    ],
    { container },
  );
  await expect(ensureContainerRuns(host, 'prover', { restarts: 0 })).rejects.toThrow(
    /^container prover does not stay up, restarts by Docker: 1\n/,
  );
});
