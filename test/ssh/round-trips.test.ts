import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openSession } from '../../lib/engine/host/open-session.ts';
import { settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import type { Inventory } from '../../lib/engine/inventory/inventory.ts';
import { directory } from '../../lib/engine/resource/file/directory.ts';
import { file } from '../../lib/engine/resource/file/file.ts';
import { jsonFile } from '../../lib/engine/resource/file/json-file.ts';
import { line } from '../../lib/engine/resource/file/line.ts';
import { drift, expectation, ok, type Resource } from '../../lib/engine/resource/resource.ts';
import { role } from '../../lib/engine/resource/role.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { play, playbook } from '../../lib/engine/run/playbook.ts';
import { run } from '../../lib/engine/run/run.ts';
import { installSshd, type Sshd, startSshd } from './sshd.ts';

let sshd: Sshd;
let folder: string;

beforeAll(async () => {
  installSshd();
  sshd = await startSshd('LogLevel VERBOSE');
});

afterAll(() => sshd?.stop());

beforeEach(() => {
  // In memory: otherwise every written file waits for its disk.
  folder = mkdtempSync('/dev/shm/round-trips-');
  writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost\n');
});

afterEach(() => rmSync(folder, { recursive: true }));

const path = (at: number) => join(folder, `${at}.conf`);

/** This many resources of each kind, all converged after the first run. */
function resources(count: number): Resource[] {
  return Array.from({ length: count }, (_, at) => [
    expectation(`root is root, said ${at}`, {
      check: async (host) => ((await host.$`id -u root; : ${at}`).text() === '0' ? ok : drift('it is not')),
    }),
    directory(join(folder, `directory-${at}`)).mode(0o750),
    file(path(at)).content(`value = ${at}\n`).mode(0o640),
    jsonFile(join(folder, `${at}.json`), { at }),
    line(join(folder, 'hosts'), `10.0.0.${at} host-${at}`),
    packages('bash', at % 2 === 0 ? 'coreutils' : 'sed'),
    expectation(`unit ${at} is not there`, {
      check: async (host) =>
        (await host.unit(`rpc-none-${at}.service`)).active === 'active' ? drift('it is') : ok,
    }),
  ]).flat();
}

/** What sshd itself logged during one run: logins and requested commands. */
async function runOnce(of: readonly Resource[]) {
  const inventory: Inventory<object> = {
    name: 'one',
    file: 'one.yaml',
    hosts: [
      {
        name: 'one',
        groups: ['all-of-them'],
        vars: {},
        connection: settingsFor(sshd),
      },
    ],
  };
  const from = sshd.log().length;
  const { signal } = new AbortController();
  const result = await run(
    playbook('trips', '', [play('all', { hosts: 'all', roles: [role('all', () => of)] })]),
    inventory,
    (host) => openSession(host, { becomePassword: undefined, interrupt: signal }),
    { check: false, forks: 1, hosts: new Set(['one']), selects: () => true, interrupt: signal },
    () => {},
  );
  const [summary] = result.hosts;
  expect(summary).toMatchObject({ stopped: undefined, unreachable: false });
  // It logs each connection with a delay.
  while (!/Disconnected from user|Connection closed by/.test(sshd.log().slice(from))) await delay(10);
  const said = sshd.log().slice(from);
  const count = (pattern: RegExp) => said.match(pattern)?.length ?? 0;
  const requests = summary?.roundTrips ?? 0;
  // A slow machine makes the host look far away, and then two more channels wait for the next
  // commands.
  expect(count(/Starting session: command/g) - requests).toBeOneOf([0, 1, 2]);
  return {
    logins: count(/Accepted publickey/g),
    requests,
    changed: summary?.counts.changed,
  };
}

test('a run with nothing to do is one connection and two requests, whatever the number of resources', async () => {
  for (const count of [1, 8]) {
    const all = resources(count);
    await runOnce(all);
    expect(await runOnce(all)).toEqual({ logins: 1, requests: 2, changed: 0 });
  }
});

test('changes of known steps travel in one request, with the checks that prove them', async () => {
  const all = resources(4);
  await runOnce(all);
  for (const at of [1, 2, 3]) writeFileSync(path(at), 'another');
  rmSync(join(folder, 'directory-0'), { recursive: true });
  writeFileSync(join(folder, '3.json'), '{ "at": 4 }');
  const { logins, requests, changed } = await runOnce(all);
  expect({ logins, changed }).toEqual({ logins: 1, changed: 5 });
  expect(requests).toBe(2 + 1);
});

test('one change is one request, with the check that proves it', async () => {
  const all = resources(4);
  await runOnce(all);
  writeFileSync(path(1), 'another');
  expect(await runOnce(all)).toEqual({ logins: 1, requests: 2 + 1, changed: 1 });
});

test('changes of a file that earlier ones rewrite travel with them, as the content between them is known', async () => {
  const all = resources(4);
  await runOnce(all);
  writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost\n');
  const { requests, changed } = await runOnce(all);
  expect(changed).toBe(4);
  expect(requests).toBe(2 + 1);
  expect(readFileSync(join(folder, 'hosts'), 'utf8').match(/^10\.0\.0\.\d host-\d$/gm)).toHaveLength(4);
});
