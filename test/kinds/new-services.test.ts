import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { Writer } from '../../lib/engine/host/host.ts';
import { openSession } from '../../lib/engine/host/open-session.ts';
import { command } from '../../lib/engine/host/step.ts';
import type { Inventory } from '../../lib/engine/inventory/inventory.ts';
import { file } from '../../lib/engine/resource/file/file.ts';
import { drift, ok, type Resource, task } from '../../lib/engine/resource/resource.ts';
import { role } from '../../lib/engine/resource/role.ts';
import { service } from '../../lib/engine/resource/system/service.ts';
import type { RunEvent } from '../../lib/engine/run/events.ts';
import type { HostPlan } from '../../lib/engine/run/plan.ts';
import { play, playbook } from '../../lib/engine/run/playbook.ts';
import { run } from '../../lib/engine/run/run.ts';
import type { RunOptions } from '../../lib/engine/run/run-options.ts';
import { changesOf, makePlan, refuseStale } from '../../lib/engine/run/saved-plan.ts';
import { type ScratchHost, scratchHost } from './scratch.ts';

const names = ['new-a', 'new-b', 'new-c'];
const folder = '/etc/systemd/system';
const unitFile = (name: string, more = '') =>
  file(`${folder}/${name}.service`).content(
    `[Unit]\n${more}\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n`,
  );
const services = () => names.map((name) => service(name));

let host: Writer;
let settings: ScratchHost['settings'];
beforeAll(async () => {
  const scratch = await scratchHost();
  ({ host, settings } = scratch);
  return scratch.remove;
});
beforeEach(async () => {
  await host.run({ allow: [0, 1, 5] })`systemctl disable --now --quiet ${names}`;
  await host.run`cd ${folder} && rm -rf new-* && systemctl daemon-reload`;
});

/** Runs resources on the host by a connection of its own. */
async function runThere(resources: readonly Resource[], check = false, more: Partial<RunOptions> = {}) {
  const events: RunEvent[] = [];
  const { signal } = new AbortController();
  const result = await run(
    playbook('test', 'tests.', [play('all', { hosts: 'all', roles: [role('r', () => resources)] })]),
    inventory(),
    (each) => openSession(each, { becomePassword: undefined, interrupt: signal }),
    { check, forks: 1, hosts: new Set(['here']), selects: () => true, interrupt: signal, ...more },
    (event) => events.push(event),
  );
  const done = events.flatMap((event) => (event.type === 'resource-done' ? [event] : []));
  const { plans } = result;
  return { done, plans, outcomes: done.map(({ outcome }) => outcome), requests: result.hosts[0]?.roundTrips };
}

const inventory = (): Inventory<object> => ({
  name: 'test',
  file: 'test.yaml',
  hosts: [{ name: 'here', groups: ['g'], connection: settings, vars: {} }],
});

test('check mode leaves a service open whose unit an earlier change writes', async () => {
  const { done } = await runThere([unitFile('new-a'), service('new-a')], true);
  expect(done.map(({ outcome, note }) => [outcome, note])).toEqual([
    ['pending', undefined],
    ['unknown', 'until new-a.service is installed'],
  ]);
  expect((await host.unit('new-a')).load).toBe('not-found');
});

test('a saved plan with a service that is left open is run, and refused once the service is there', async () => {
  const resources = [unitFile('new-a'), service('new-a')];
  const { plans } = await runThere(resources, true);
  const chosen = { roles: [], skippedRoles: [], set: [], assumedStopped: [], own: {} };
  const saved = makePlan(plans, { playbook: 'test', inventory: inventory(), chosen }, Date.now());
  const fromPlan = {
    refuseStale: (now: readonly HostPlan[]) => refuseStale(saved, inventory(), now),
    refuses: changesOf(saved, inventory()),
  };
  expect((await runThere(resources, false, fromPlan)).outcomes).toEqual(['changed', 'changed']);
  expect((await host.unit('new-a')).active).toBe('active');
  await expect(runThere(resources, false, fromPlan)).rejects.toThrow('ok or failing since the plan was made');
});

test('the files of new services are made in one request, and the services in the next', async () => {
  const resources = [...names.map((name) => unitFile(name)), ...services()];
  const { outcomes, requests } = await runThere(resources);
  expect(outcomes).toEqual(Array(6).fill('changed'));
  // Facts, checks, files, services.
  expect(requests).toBe(4);
  expect((await host.$`systemctl is-enabled ${names}`).lines()).toEqual(Array(3).fill('enabled'));
  expect((await runThere(resources)).outcomes).toEqual(Array(6).fill('ok'));
});

test('a service that systemd keeps in memory for another one is enabled, too', async () => {
  const files = [
    unitFile('new-a', 'After=new-b.service new-c.service'),
    unitFile('new-b'),
    unitFile('new-c'),
  ];
  expect((await runThere([...files, ...services()])).outcomes).toEqual(Array(6).fill('changed'));
  expect((await host.$`systemctl is-enabled ${names}`).lines()).toEqual(Array(3).fill('enabled'));
});

test('a drop-in between two services is seen by the second', async () => {
  await host.run`mkdir ${`${folder}/new-b.service.d`}`;
  const dropIn = file(`${folder}/new-b.service.d/a.conf`).content('[Service]\nEnvironment=FROM=drop-in\n');
  const [first, second] = services();
  if (!first || !second) throw new Error('no services');
  await runThere([unitFile('new-a'), unitFile('new-b'), first, dropIn, second]);
  expect((await host.$`systemctl show --property Environment --value new-b`).text()).toBe('FROM=drop-in');
});

test('a unit that an earlier change has started already is checked again', async () => {
  const starts = task('it is started by hand', {
    check: async (reader) =>
      (await reader.stat('/run/new-a-started'))
        ? ok
        : drift('it is not', [command`systemctl start new-a && touch /run/new-a-started`]),
  });
  await host.run`rm -f /run/new-a-started`;
  const { done } = await runThere([unitFile('new-a'), starts, service('new-a')]);
  expect(done.map(({ outcome }) => outcome)).toEqual(['changed', 'changed', 'changed']);
  expect(done[2]?.differences).toEqual([{ what: 'at boot', was: 'disabled', wanted: 'enabled' }]);
});

test('a unit that runs although its file is gone waits for the file, and is not taken for a new one', async () => {
  await runThere([unitFile('new-a'), service('new-a')]);
  await host.run`rm ${`${folder}/new-a.service`} && systemctl daemon-reload`;
  const { outcomes } = await runThere([unitFile('new-a'), service('new-a')], true);
  expect(outcomes[0]).toBe('pending');
  expect(outcomes[1]).not.toBe('ok');
  expect((await runThere([unitFile('new-a'), service('new-a')])).outcomes).not.toContain('failed');
  expect((await host.unit('new-a')).active).toBe('active');
});
