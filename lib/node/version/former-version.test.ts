import { expect, test } from 'vitest';
import formerVersion from '../../../roles/former-version.ts';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { command } from '../../engine/host/step.ts';
import { drift, ok, type Resource } from '../../engine/resource/resource.ts';
import { role } from '../../engine/resource/role.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { sessionOf } from '../../engine/resource/testing/test-host.ts';
import type { RunEvent } from '../../engine/run/events.ts';
import { play, playbook } from '../../engine/run/playbook.ts';
import { run } from '../../engine/run/run.ts';
import type { RunOptions } from '../../engine/run/run-options.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { answering, migrationsOf } from '../testing/migrations.ts';
import { sound } from '../testing/role-context.ts';
import type { Variables } from '../variables/variables.ts';
import { noOtherVersionServes } from './version-change.ts';

const former = 'node:v1.2.3';
const wanted = '172.30.77.10:5000/node:v3.1.0';

/** The image and the state of the node's container on each host. */
type Fleet = Map<string, { image: string; running: boolean }>;

const oldFleet = (): Fleet =>
  new Map(['db-1', 'rpc-1', 'rpc-2'].map((host) => [host, { image: former, running: true }]));

function hostOf(fleet: Fleet, name: string) {
  const own = fleet.get(name) ?? { image: former, running: false };
  const state = () => ({ ...runningContainer, image: own.image, running: own.running, raw: {} });
  const host = fakeHost(
    [
      [/docker image inspect/, 'sha256:1'],
      [/^:$/, ''],
    ],
    {
      name,
      ...answering(migrationsOf['v1.2.3']),
      container: async (asked) => (asked.endsWith('-db') ? runningContainer : state()),
    },
  );
  const run = shell(async (given) => {
    Object.assign(
      own,
      given.startsWith('docker stop') ? { running: false } : { image: wanted, running: true },
    );
    return new Output(0, Buffer.alloc(0), '');
  });
  return { ...host, run };
}

/** In place of role sync or json-rpc: starts the new version. */
const starts = (name: string) =>
  role<Variables>(name, (context): readonly Resource[] => [
    {
      name: `${name} is started`,
      check: async (host) =>
        (await host.container(name))?.image === wanted
          ? ok
          : drift('former version', [command`docker compose up`]),
      ...(name === 'sync' && { everyHost: noOtherVersionServes(context) }),
    },
  ]);

async function deploy(fleet: Fleet, options: Partial<RunOptions> & { unreachable?: string } = {}) {
  const inventory = await loadDeployment(await labDeployment());
  const events: RunEvent[] = [];
  const plays = [
    play('former version', { hosts: 'all', roles: [formerVersion], anyErrorsFatal: true }),
    play('database', { hosts: 'database', roles: [starts('sync')] }),
    play('rpc', { hosts: 'rpc', roles: [starts('json-rpc')], needs: ['database'] }),
  ];
  const all: RunOptions = {
    check: false,
    forks: 5,
    hosts: new Set(fleet.keys()),
    selects: () => true,
    interrupt: new AbortController().signal,
    ...options,
  };
  const open = async ({ name }: { readonly name: string }) => {
    if (name === options.unreachable) throw new Error('no route');
    return sessionOf(hostOf(fleet, name), sound);
  };
  await run(playbook<Variables>('test', 'tests.', plays), inventory, open, all, (event) =>
    events.push(event),
  );
  return events.flatMap((event) => {
    if (event.type !== 'resource-done' || event.outcome === 'ok') return [];
    const { task, outcome, note, error } = event;
    const why = error instanceof Error ? error.message : outcome === 'unknown' ? note : undefined;
    return [`${task.host} ${outcome} ${task.resource}${why ? `: ${why}` : ''}`];
  });
}

const states = (fleet: Fleet) => [...fleet].map(([, { image, running }]) => `${image} ${running}`);
const changed = (fleet: Fleet) => expect(states(fleet)).toEqual(Array(3).fill(`${wanted} true`));
const unchanged = (fleet: Fleet) => expect(states(fleet)).toEqual(Array(3).fill(`${former} true`));

test('json-rpc and sync stop everywhere, then sync starts, then json-rpc; the plan says so', async () => {
  const fleet = oldFleet();
  expect(await deploy(fleet, { check: true })).toEqual([
    'db-1 pending sync of another version is stopped',
    `db-1 unknown sync is started: until json-rpc of ${former} is stopped on rpc-1`,
    'rpc-1 pending json-rpc of another version is stopped',
    'rpc-1 pending json-rpc is started',
    'rpc-2 pending json-rpc of another version is stopped',
    'rpc-2 pending json-rpc is started',
  ]);
  unchanged(fleet);
  const done = await deploy(fleet);
  expect(new Set(done.slice(0, 3))).toEqual(
    new Set([
      'db-1 changed sync of another version is stopped',
      ...['rpc-1', 'rpc-2'].map((host) => `${host} changed json-rpc of another version is stopped`),
    ]),
  );
  expect(done[3]).toBe('db-1 changed sync is started');
  expect(new Set(done.slice(4))).toEqual(
    new Set(['rpc-1 changed json-rpc is started', 'rpc-2 changed json-rpc is started']),
  );
  changed(fleet);
  expect(await deploy(fleet)).toEqual([]);
});

test('after a run that was killed at any boundary the next one ends the change', async () => {
  for (const stopped of [
    ['rpc-1'],
    ['rpc-1', 'rpc-2'],
    ['db-1'],
    ['db-1', 'rpc-2'],
    ['db-1', 'rpc-1', 'rpc-2'],
  ]) {
    for (const sync of [former, wanted]) {
      if (sync === wanted && stopped.length < 3) continue;
      const fleet = oldFleet();
      for (const host of stopped) fleet.set(host, { image: former, running: false });
      if (sync === wanted) fleet.set('db-1', { image: wanted, running: true });
      await deploy(fleet);
      changed(fleet);
    }
  }
});

test('a run that leaves a server out, or does not reach it, changes nothing', async () => {
  const together = 'all servers change the version of the node together';
  const left = (options: Parameters<typeof deploy>[1]) => {
    const fleet = oldFleet();
    return deploy(fleet, options).then((outcomes) => {
      unchanged(fleet);
      return outcomes.join('\n');
    });
  };
  for (const check of [true, false]) {
    expect(await left({ check, hosts: new Set(['db-1']) })).toContain(
      `${together}: rpc-1: json-rpc runs ${former}, and this run does not change that`,
    );
    expect(await left({ check, hosts: new Set(['rpc-1', 'rpc-2']) })).toContain(
      `${together}: db-1: sync is running with ${former}, not running with ${wanted}, and this run does not change that`,
    );
    expect(await left({ check, selects: (name) => name !== 'former-version' })).toContain(
      `no json-rpc of another version: rpc-1: json-rpc runs ${former}, and this run does not change that`,
    );
    expect(await left({ check, unreachable: 'rpc-2' })).toContain(
      `${together}: unknown, because rpc-2 could not be checked: rpc-2: no route`,
    );
  }
});

test('one RPC server follows alone once sync has migrated the database', async () => {
  const fleet = oldFleet();
  fleet.set('db-1', { image: wanted, running: true });
  await deploy(fleet, { hosts: new Set(['rpc-1']) });
  expect(states(fleet)).toEqual([`${wanted} true`, `${wanted} true`, `${former} true`]);
});
