import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Reader } from '../../lib/engine/host/host.ts';
import { Output } from '../../lib/engine/host/output.ts';
import { shell } from '../../lib/engine/host/shell.ts';
import { describeVerdict, refusalOf, type Verdict } from '../../lib/engine/resource/resource.ts';
import { runningContainer } from '../../lib/engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { noRewindDeletes } from '../../lib/node/chain/rewind-session.ts';
import { stateIsRewound } from '../../lib/node/rewind/database.ts';
import { localHost } from '../../lib/node/testing/local-host.ts';
import { migrationsOf } from '../../lib/node/testing/migrations.ts';
import { physicalManifest } from '../../lib/node/testing/physical-manifest.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import type { PhysicalSnapshot } from '../../lib/node/variables/variables.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { chainOf, fillState, serve } from './diverged-chains.ts';

// What a rewind deletes, on a real PostgreSQL 15 with the migrations of the lab's node. Layer 2 has
// blocks 0 to 30, three in each batch but the first; the trusted sequencer has others from a number on.

const programs = mkdtempSync('/var/tmp/rewind-');
let postgres: Postgres;

const sequencer = chainOf(686_868, 40, 18);
const layer1 = chainOf(202_401, 1400, 9999);
let servers: readonly Server[] = [];

beforeAll(async () => {
  postgres = await startPostgres('/var/tmp', { fsync: 'off' });
  const docker = '#!/bin/sh\ncase $1 in exec) shift 2; exec "$@" ;; *) exit 0 ;; esac';
  writeFileSync(join(programs, 'docker'), docker, { mode: 0o755 });
  servers = await Promise.all([serve(sequencer), serve(layer1)]);
});

afterAll(async () => {
  for (const server of servers) server.close();
  rmSync(programs, { recursive: true });
  await postgres.stop();
});

const sql = (statements: string) => postgres.sql('state_db', statements);

beforeEach(() => {
  Object.assign(sequencer, { id: 686_868, newest: 40, parts: 18 });
  Object.assign(layer1, { id: 202_401, newest: 1400, parts: 9999 });
  fillState(postgres, migrationsOf['v3.1.0'].state);
});

const environment = () => ({
  ...process.env,
  ...postgres.environment,
  PATH: `${programs}:${process.env.PATH}`,
});

/** The Database+Sync server, whose state-db is this server; its sync is stopped. */
function host() {
  const read: Reader['sql'] = async ({ database }, query) => {
    try {
      const words = ['-XqAt', '-F', '|', '-v', 'ON_ERROR_STOP=1', `--dbname=${database}`, '-c', query];
      const text = execFileSync('psql', words, { env: environment(), encoding: 'utf8', stdio: 'pipe' });
      const rows = text.split('\n').filter((line) => line !== '');
      return { ok: true, rows: rows.map((line) => line.split('|')) };
    } catch (error) {
      return { ok: false, error: String(error) };
    }
  };
  const run = shell(async (command) => {
    execFileSync('/bin/sh', ['-c', command], { env: environment(), stdio: 'pipe' });
    return new Output(0, Buffer.of(), '');
  });
  return localHost(programs, {
    name: 'db-1',
    sql: read,
    run,
    container: async (name) => (name === 'state-db' ? runningContainer : undefined),
  });
}

/** @param snapshot a physical one that the inventory names */
async function rewind(to?: string, snapshot?: PhysicalSnapshot) {
  const context = await contextOf({
    network: {
      trusted_sequencer_url: sequencer.url,
      l2_chain_id: 686_868,
      l1_rpc_url: layer1.url,
      chain_id: 202_401,
    },
  });
  const given = to === undefined ? {} : { to };
  const { vars } = context;
  const named = snapshot ? { ...vars, snapshot: { ...vars.snapshot, physical: snapshot } } : vars;
  const [allowed, , blocks] = stateIsRewound({ ...context, vars: named, given });
  if (!allowed || !blocks) throw new Error('a rewind is judged, and made');
  return { allowed, blocks };
}

const stepsOf = (verdict: Verdict) =>
  verdict.is === 'drift' && Array.isArray(verdict.change)
    ? verdict.change.map((step) => ('command' in step ? step.command : ''))
    : [];

/** The command of the deletion, as the host runs it. */
async function deletion(): Promise<string> {
  const { blocks } = await rewind('15');
  const [command = ''] = stepsOf(await blocks.check(host()));
  return command;
}

/** How many rows each table has, and its highest number. */
const contents = () =>
  sql(`select 'batches ' || count(*) || ' to ' || max(batch_num) from state.batch
    union all select 'blocks ' || count(*) || ' to ' || max(block_num) from state.l2block
    union all select 'transactions ' || count(*) || ' to ' || max(l2_block_num) from state.transaction
    union all select 'receipts ' || count(*) from state.receipt
    union all select 'logs ' || count(*) from state.log
    union all select 'virtual ' || count(*) from state.virtual_batch
    union all select 'verified ' || count(*) from state.verified_batch
    union all select 'exit roots ' || count(*) from state.exit_root
    union all select 'forced ' || count(*) from state.forced_batch
    union all select 'proofs and sequences ' || (select count(*) from state.proof) + (select count(*) from state.sequences)
    union all select 'layer 1 ' || count(*) || ' to ' || max(block_num) from state.block`).split('\n');

const whole = [
  'batches 11 to 10',
  'blocks 31 to 30',
  'transactions 30 to 30',
  'receipts 30',
  'logs 60',
  'virtual 4',
  'verified 2',
  'exit roots 5',
  'forced 1',
  'proofs and sequences 2',
  'layer 1 5 to 1310',
];
const upTo15 = [
  'batches 6 to 5',
  'blocks 16 to 15',
  'transactions 15 to 15',
  'receipts 15',
  'logs 30',
  ...whole.slice(5, 9),
  'proofs and sequences 0',
  'layer 1 5 to 1310',
];
const notes = () => sql('select batch_num, reason from state.trusted_reorg');

test('every foreign key on the way of a deletion cascades, but for one that is looked at before', () => {
  const others = sql(`select conrelid::regclass || ' to ' || confrelid::regclass from pg_constraint
    where contype = 'f' and confdeltype <> 'c' order by 1`);
  expect(others).toBe('state.batch to state.forced_batch');
  const tables =
    sql(`select string_agg(distinct conrelid::regclass::text, ' ' order by conrelid::regclass::text)
    from pg_constraint where contype = 'f'`);
  expect(tables).toBe(
    'state.batch state.exit_root state.forced_batch state.l2block state.log state.proof state.receipt state.sequences state.transaction state.verified_batch state.virtual_batch',
  );
});

test.each(['v3.1.0', 'v1.2.3'] as const)(
  'whole batches go with all that is theirs, and nothing else, in a database of %s',
  async (version) => {
    fillState(postgres, migrationsOf[version].state);
    const { allowed, blocks } = await rewind('15');
    expect(await allowed.check(host())).toEqual({ is: 'ok' });
    const seen = await blocks.check(host());
    expect(seen).toMatchObject({
      differences: [
        { what: 'newest block', was: '30', wanted: '15 (0xa15)' },
        { was: '15 blocks, in batches 6 to 10' },
        { was: expect.stringMatching(/^block 18 \(0xa18\), made 2023-11-14/) },
        { what: 'the way back' },
      ],
    });
    await applyDrift(host(), blocks);
    expect(contents()).toEqual(upTo15);
    expect(await blocks.check(host())).toEqual({ is: 'ok' });
    expect(notes()).toBe('6|rpc-node: rewound to block 15');
    const kept = version === 'v3.1.0' ? sql('select count(*) from state.batch_data_backup') : '5';
    expect(kept).toBe('5');
  },
);

test('nothing is done while the chains agree, or cannot be compared', async () => {
  sequencer.parts = 9999;
  const agreed = await rewind('15');
  for (const resource of [agreed.allowed, agreed.blocks])
    expect(await resource.check(host())).toEqual({ is: 'ok' });
  sequencer.parts = 18;
  sequencer.id = 5;
  const { allowed, blocks } = await rewind('15');
  expect(describeVerdict(await allowed.check(host()))).toMatch(
    /is of the chain with id 5, and has to be of the one with id 686868$/,
  );
  expect(await blocks.check(host())).toEqual({ is: 'unknown', until: 'the chains can be compared' });
  Object.assign(sequencer, { id: 686_868, parts: 0 });
  expect(describeVerdict(await allowed.check(host()))).toBe(
    'the trusted sequencer has none of the blocks here: it is another chain',
  );
  Object.assign(sequencer, { parts: 2 });
  expect(describeVerdict(await allowed.check(host()))).toBe(
    '--to 15 is not the block at which the rewind ends: that is 0',
  );
  expect(contents()).toEqual(whole);
});

/** Each row takes longer than any test. */
const slow = () =>
  sql(`create function public.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return old; end $$;
    create trigger slow before delete on state.l2block for each row execute function public.slow()`);
const sessions = `from pg_stat_activity where query like 'begin%delete%' and wait_event = 'PgSleep'`;

test('what is found after the judgement is judged again', async () => {
  const { allowed, blocks } = await rewind('15');
  expect(await allowed.check(host())).toEqual({ is: 'ok' });
  sequencer.parts = 2;
  await expect(applyDrift(host(), blocks)).rejects.toThrow(
    '--to 15 is not the block at which the rewind ends: that is 0',
  );
  expect(contents()).toEqual(whole);
});

test('PostgreSQL goes on when the client is killed, which is seen until it has ended', async () => {
  const { vars } = await contextOf({});
  const command = await deletion();
  slow();
  const deleting = spawn('/bin/sh', ['-c', `exec ${command}`], { env: environment(), stdio: 'ignore' });
  const ended = new Promise((resolve) => deleting.once('exit', resolve));
  while (sql(`select count(*) ${sessions}`) !== '1') await delay(50);
  deleting.kill('SIGKILL');
  await ended;
  const pid = sql(`select pid ${sessions}`);
  expect(pid).toMatch(/^\d+$/);
  expect(describeVerdict(await noRewindDeletes(host(), vars))).toBe(
    `a rewind still deletes in the state database (pid ${pid})`,
  );
  sql(`select pg_terminate_backend(pid) ${sessions}`);
  while (sql(`select count(*) from pg_stat_activity where pid = ${pid}`) !== '0') await delay(50);
  expect(await noRewindDeletes(host(), vars)).toEqual({ is: 'ok' });
  expect(contents()).toEqual(whole);
});

test('a physical snapshot with all blocks that go is the way back, where its pieces can be downloaded', async () => {
  sql('update state.l2block set received_at = now()');
  let there = true;
  const files = createServer((request, response) => {
    const { bytes } = physicalManifest.pieces.find(({ file }) => request.url === `/${file}`) ?? {};
    if (!there || bytes === undefined) return void response.writeHead(404).end();
    response.writeHead(206, { 'content-range': `bytes 0-0/${bytes}` }).end('x');
  });
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void files.close());
  const folder = `http://127.0.0.1:${(files.address() as AddressInfo).port}/`;
  const of = (block: number, hash = `0xa${block}`, to?: string) =>
    rewind(to, { manifest: { ...physicalManifest, block, hash }, folder });
  const words = async (block: number, hash?: string) =>
    describeVerdict(await (await of(block, hash)).allowed.check(host()));
  expect(await words(30)).toBe('ok');
  expect(await (await of(30)).blocks.check(host())).toMatchObject({
    differences: [
      ...Array(3).fill({}),
      {
        what: 'the way back',
        was: 'the physical snapshot of 2024-06-01',
        wanted: 'deploy.mjs, with the data directory set aside (docs/rewind.md)',
      },
    ],
  });
  const none =
    'the rewind to block 15 has no way back: the inventory has no host in group backup, and no physical snapshot of all that goes';
  // It has some of what goes; it has other blocks.
  expect(await words(29)).toBe(none);
  expect(await words(30, '0xb30')).toBe(none);
  there = false;
  const wrong = `${folder}piece-000000.tar.zst answers HTTP 404; ${folder}piece-000001.tar.zst answers HTTP 404`;
  const refusal = await (await of(30)).allowed.check(host());
  expect(describeVerdict(refusal)).toBe(`the way back is the physical snapshot: ${wrong}`);
  expect(refusalOf(refusal)?.hint).toContain('--to 15');
  expect(await (await of(30, '0xa30', '15')).allowed.check(host())).toEqual({
    is: 'ok',
    note: `the physical snapshot is no way back: ${wrong}`,
  });
});

test('PostgreSQL itself ends a deletion that takes too long', async () => {
  const [limit, shorter] = ["statement_timeout = '\\''21600s", "statement_timeout = '\\''200ms"];
  const command = await deletion();
  expect(command).toContain(limit);
  slow();
  expect(() =>
    execFileSync('/bin/sh', ['-c', command.replace(limit, shorter)], { env: environment(), stdio: 'pipe' }),
  ).toThrow('canceling statement due to statement timeout');
  expect(contents()).toEqual(whole);
});

test('killed while it deletes, it has deleted nothing, and the next run does it', async () => {
  const command = await deletion();
  slow();
  const deleting = spawn('/bin/sh', ['-c', command], { env: environment(), stdio: 'ignore' });
  const ended = new Promise((resolve) => deleting.once('exit', resolve));
  while (sql(`select count(*) ${sessions}`) !== '1') await delay(50);
  // It locks out no reader meanwhile.
  expect(sql('select max(block_num) from state.l2block')).toBe('30');
  sql(`select pg_terminate_backend(pid) ${sessions}`);
  expect(await ended).not.toBe(0);
  expect(contents()).toEqual(whole);
  expect(notes()).toBe('');
  sql('drop trigger slow on state.l2block');
  execFileSync('/bin/sh', ['-c', await deletion()], { env: environment() });
  expect(contents()).toEqual(upTo15);
});

test('a second deletion that waited for the first, or comes after new blocks, deletes nothing', async () => {
  const command = await deletion();
  for (let runs = 0; runs < 2; runs += 1) execFileSync('/bin/sh', ['-c', command], { env: environment() });
  sql(`insert into state.batch (batch_num) values (6);
    insert into state.l2block (block_num, block_hash, received_at, created_at, batch_num)
      select n, case when n < 18 then '0xa' else '0xb' end || n, now(), now(), 6 from generate_series(16, 18) n`);
  execFileSync('/bin/sh', ['-c', command], { env: environment() });
  expect(sql('select max(block_num) from state.l2block')).toBe('18');
  expect(notes()).toBe('6|rpc-node: rewound to block 15');
  const { blocks } = await rewind();
  expect(await blocks.check(host())).toEqual({ is: 'ok' });
});

test('a writer is waited for', async () => {
  const command = await deletion();
  const writer = spawn('psql', ['-Xq', '--dbname=state_db'], {
    env: environment(),
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  writer.stdin.write("begin; update state.batch set coinbase = '0x1' where batch_num = 1;\n");
  const locks = (granted: boolean) =>
    sql(
      `select count(*) from pg_locks where relation = 'state.batch'::regclass and mode ~ '^(Row|ShareRow)Exclusive' and granted = ${granted}`,
    );
  while (locks(true) === '0') await delay(50);
  const deleting = spawn('/bin/sh', ['-c', command], { env: environment(), stdio: 'ignore' });
  const ended = new Promise((resolve) => deleting.once('exit', resolve));
  while (locks(false) === '0') await delay(50);
  expect(contents()).toEqual(whole);
  writer.stdin.end('commit;\n');
  expect(await ended).toBe(0);
  expect(contents()).toEqual(upTo15);
});

test('a layer 1 that has gone back is followed, when its number is typed; a short way is left to the node', async () => {
  Object.assign(sequencer, { parts: 9999 });
  layer1.parts = 1305;
  const { blocks } = await rewind();
  expect(await blocks.check(host())).toEqual({ is: 'ok' });
  layer1.parts = 1150;
  const { allowed } = await rewind();
  expect(describeVerdict(await allowed.check(host()))).toBe(
    'the rewind to block 1100 has no way back: the inventory has no host in group backup, and no physical snapshot of all that goes',
  );
  const deep = await rewind('1100');
  expect(await deep.allowed.check(host())).toEqual({ is: 'ok' });
  await applyDrift(host(), deep.blocks);
  expect(contents()).toEqual([
    ...whole.slice(0, 5),
    'virtual 2',
    'verified 1',
    'exit roots 2',
    'forced 1',
    'proofs and sequences 2',
    'layer 1 2 to 1100',
  ]);
  expect(notes()).toBe('|rpc-node: rewound to block 1100 of layer 1');
});

test('a batch that needs a forced batch of layer 1 is seen before anything is stopped', async () => {
  Object.assign(sequencer, { parts: 9999 });
  layer1.parts = 1050;
  const { allowed } = await rewind('1000');
  expect(describeVerdict(await allowed.check(host()))).toBe(
    'batch 3 holds a forced batch of a block of layer 1 that would go',
  );
});

test('it asks few questions', async () => {
  sequencer.asked = 0;
  await deletion();
  expect(sequencer.asked).toBeLessThan(12);
});
