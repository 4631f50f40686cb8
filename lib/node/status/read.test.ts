import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import timeSync from '../../../roles/time-sync.ts';
import type { Reader, Shell, Word } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { localHost } from '../testing/local-host.ts';
import { sound } from '../testing/role-context.ts';
import { readHost } from './read.ts';

/** A host on which nothing answers, with a list of the commands. */
function bareHost(docker: string, tracking = new Output(127, Buffer.from(''), ''), ntp = 'no') {
  const asked: string[] = [];
  const answer = (pieces: TemplateStringsArray, ...words: readonly Word[]) => {
    asked.push(String.raw({ raw: pieces }, ...words));
    if (asked.at(-1)?.startsWith('chronyc')) return Promise.resolve(tracking);
    if (asked.at(-1)?.startsWith('timedatectl')) return Promise.resolve(new Output(0, Buffer.from(ntp), ''));
    const clock = asked.at(-1)?.startsWith('date');
    return Promise.resolve(new Output(clock ? 0 : 127, Buffer.from(clock ? `${Date.now() / 1000}` : ''), ''));
  };
  const $ = ((first: TemplateStringsArray | object, ...words: readonly Word[]) =>
    Array.isArray(first) ? answer(first as unknown as TemplateStringsArray, ...words) : answer) as Shell;
  const note = (what: string) => async (about: unknown) =>
    void asked.push(`${what} ${JSON.stringify(about)}`);
  const reader = {
    name: 'h',
    $,
    container: note('container'),
    unit: async (name: string) =>
      name === 'docker.service' ? { active: docker } : { active: 'active', enabled: 'enabled' },
    sql: async () => {
      asked.push('sql');
      return { ok: false, error: 'no container' };
    },
  } as unknown as Reader;
  return { reader, asked };
}

/** The first host of a group in the lab's inventory. */
async function hostIn(group: string) {
  const { hosts } = await loadDeployment(await labDeployment());
  const host = hosts.find(({ groups }) => groups.includes(group));
  if (!host) throw new Error(`no host in ${group}`);
  return host;
}

test.each(['database', 'rpc'])(
  'a stopped Docker engine is not queried, because that would start it: %s',
  async (group) => {
    const host = await hostIn(group);
    const stopped = bareHost('inactive');
    const state = await readHost(stopped.reader, host);
    expect(state).toMatchObject({
      docker: 'inactive',
      disks: [],
      log: undefined,
      chain: {
        own: {
          ok: false,
          error:
            group === 'database'
              ? 'the Docker engine does not run'
              : expect.stringMatching(/ does not answer: no answer$/),
        },
      },
    });
    // Docker's root is read by a command that checks for the engine first.
    const asked = stopped.asked.filter(
      (text) => !text.includes('systemctl is-active --quiet docker.service'),
    );
    expect(asked.filter((text) => /docker|container|sql/.test(text))).toEqual([]);
    // Each database may be on a disk of its own.
    const folders = group === 'database' ? '/data/state-db,/data/pool-db' : '/data/pool-db';
    expect(stopped.asked.join('\n')).toContain(` disks /,/data,${folders}`);

    const running = bareHost('active');
    await readHost(running.reader, host);
    expect(running.asked.filter((text) => /^container/.test(text))).toHaveLength(5);
  },
);

test('a json-rpc that hangs is asked all questions at the same time: status waits 20 seconds for a host', async () => {
  const asked: string[] = [];
  const server = createServer(async (request) => {
    const { method } = JSON.parse((await request.toArray()).join('')) as { method: string };
    asked.push(method);
    // Questions that are asked one after the other would never be three.
    if (asked.length === 3) server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => void server.close());
  const database = await hostIn('database');
  const vars = {
    ...database.vars,
    ports: { ...database.vars.ports, rpc_http: (server.address() as AddressInfo).port },
  };
  const { reader } = bareHost('inactive');
  const $ = ((first: TemplateStringsArray | object, ...words: readonly Word[]) =>
    (Array.isArray(first) ? reader : localHost()).$(first as TemplateStringsArray, ...words)) as Shell;
  const state = await readHost({ ...reader, $ }, { groups: ['database', 'rpc'], vars });
  expect(asked.toSorted()).toEqual(['eth_call', 'eth_getBlockByNumber', 'zkevm_batchNumber']);
  expect(state).toMatchObject({ served: { ok: false }, executes: { ok: false } });
});

test('an engine that hangs is asked once, and nothing else of Docker', async () => {
  const { reader, asked } = bareHost('active');
  const cutOff = async () => new Output(124, Buffer.from(''), '', true);
  const $ = ((first: TemplateStringsArray | object, ...words: readonly Word[]) =>
    Array.isArray(first)
      ? reader.$(first as unknown as TemplateStringsArray, ...words)
      : (pieces: TemplateStringsArray, ...more: readonly Word[]) =>
          pieces.join('').includes('docker version')
            ? cutOff()
            : reader.$(first as object)(pieces, ...more)) as Shell;
  const database = await hostIn('database');
  const state = await readHost({ ...reader, $ }, database);
  expect(state).toMatchObject({
    docker: 'no answer',
    chain: { own: { ok: false, error: 'the Docker engine does not answer' } },
  });
  expect(asked.filter((text) => /^container|sql/.test(text))).toEqual([]);
});

/** When a time server answered, a minute ago. */
const answered = Math.floor(Date.now() / 1000) - 60;

test.each([
  [
    `AC1E4D0A,172.30.77.10,11,${answered},0.000012,0,0,0,0,0,0,1,64,Normal`,
    0,
    { offServer: 0.000012, fault: undefined },
  ],
  [
    `AC1E4D0A,172.30.77.10,11,${answered},-3.2,0,0,0,0,0,0,1,64,Normal`,
    0,
    { offServer: -3.2, fault: expect.stringContaining('off') },
  ],
  [
    'AC1E4D0A,172.30.77.10,11,1.5,0.000012,0,0,0,0,0,0,1,64,Normal',
    0,
    { fault: expect.stringMatching(/^the clock follows nobody: 172\.30\.77\.10 last answered .* ago$/) },
  ],
  ['00000000,,0,0,0,0,0,0,0,0,0,1,0,Not synchronised', 0, { server: undefined, fault: expect.any(String) }],
  ['', 127, { fault: 'chrony is not installed' }],
  ['', 1, { fault: 'chronyd does not answer' }],
])('the clock is read from chrony: %s', async (text, exitCode, expected) => {
  const { hosts } = await loadDeployment(await labDeployment());
  const { reader } = bareHost('inactive', new Output(exitCode, Buffer.from(text), ''));
  const { clock } = await readHost(reader, hosts[0] as (typeof hosts)[number]);
  expect(clock).toMatchObject(expected);
});

test.each([
  ['yes', 'ok', { server: 'systemd-timesyncd', fault: undefined }],
  ['no', 'unknown', { fault: 'chrony is not installed' }],
])(
  'role time-sync and status agree about systemd-timesyncd: synchronised %s',
  async (ntp, verdict, clock) => {
    const { hosts } = await loadDeployment(await labDeployment([[['vars', 'time_servers'], undefined]]));
    const host = hosts[0] as (typeof hosts)[number];
    const { reader } = bareHost('inactive', undefined, ntp);
    const resources = await timeSync.resources({
      host,
      vars: host.vars,
      hosts,
      facts: sound,
      includes: () => true,
      given: {},
    });
    const synchronised = resources.find(({ name }) => name === 'the clock is synchronised');
    expect((await synchronised?.check(reader))?.is).toBe(verdict);
    expect((await readHost(reader, host)).clock).toMatchObject(clock);
  },
);

test('on one server for all components json-rpc is asked, too', async () => {
  const { hosts } = await loadDeployment(await labDeployment([[['groups', 'rpc'], { 'db-1': null }]]));
  const { reader } = bareHost('active');
  const state = await readHost(reader, hosts[0] as (typeof hosts)[number]);
  expect(state.chain.from).toBe('state-db');
  expect(state.served).toMatchObject({ ok: false, error: expect.stringContaining('http://localhost:8123') });
});

test('how a database sorts text is asked together with its newest block', async () => {
  const host = await hostIn('database');
  const asked: string[] = [];
  const askedAtFirstAnswer: string[][] = [];
  const reader = {
    ...bareHost('active').reader,
    sql: async (_: unknown, query: string) => {
      asked.push(query);
      await new Promise(setImmediate);
      askedAtFirstAnswer.push([...asked]);
      return query.includes('datcollversion')
        ? { ok: true, rows: [['prover', '2.31', '2.36']] }
        : { ok: false, error: '' };
    },
  } as Reader;
  const state = await readHost(reader, host);
  expect(state.otherCollations).toEqual([
    'prover was made with version 2.31 of the sorting rules, and the image has 2.36',
  ]);
  expect(askedAtFirstAnswer[0]).toEqual(
    expect.arrayContaining([expect.stringContaining('datcollversion'), expect.stringContaining('l2block')]),
  );
});

test('the log of each container that restarts is read for why it ended, and no other log', async () => {
  const host = await hostIn('database');
  const { reader } = bareHost('active');
  const restarted = { ...runningContainer, status: 'restarting', restartCount: 7 };
  const line =
    '2026-01-01T12:00:01.000000001Z 2026-01-01 12:00:01.000 UTC [1] FATAL:  could not map anonymous shared memory: Cannot allocate memory\n';
  const answer = (pieces: TemplateStringsArray, ...words: readonly Word[]) =>
    pieces.join('').includes('docker logs') && words.includes('pool-db')
      ? Promise.resolve(new Output(0, Buffer.from(line), ''))
      : reader.$(pieces, ...words);
  const $ = ((first: TemplateStringsArray | object, ...words: readonly Word[]) =>
    Array.isArray(first) ? answer(first as unknown as TemplateStringsArray, ...words) : answer) as Shell;
  const container = async (name: string) =>
    name === 'pool-db' || name === 'prover'
      ? restarted
      : // It has run for long since.
        { ...runningContainer, restartCount: 1 };
  const state = await readHost({ ...reader, $, container } as Reader, host);
  expect(state.ended).toEqual({
    'pool-db': 'could not map anonymous shared memory: Cannot allocate memory',
    prover: undefined,
  });
});
