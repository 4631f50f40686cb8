#!/usr/bin/env zx
// Concurrent deploys of the synchronizer on the lab, in random orders: two controllers at once,
// one of them maybe with a stale inventory, servers that stop and start, controllers that are
// killed, synchronizers that others start. A sampler checks every process of the lab's hosts and
// proves that no controller ever started a second synchronizer.
//
//   npm run race -- --orders 200 --seed 7 --minutes 15
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseDocument } from 'yaml';
import { $ } from 'zx';
import { hosts, projectRoot } from '../../lab/layout.mjs';
import { labUp } from '../../lab/up.mjs';
import { commandLine } from '../../lib/start/command-line.mjs';
import { randomFrom } from './random.mjs';
import { synchronizersSeen } from './synchronizers-seen.mjs';

const { values } = parseArgs({
  args: commandLine,
  options: {
    orders: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string', default: '600' },
  },
});
const orders = Number(values.orders);
const end = Date.now() + Number(values.minutes) * 60_000;
const folder = mkdtempSync(join(tmpdir(), 'race-'));
const current = join(folder, 'current.yaml');
const stale = join(folder, 'stale.yaml');
const quiet = $({ quiet: true, nothrow: true });
const databaseImage = '172.30.77.10:5000/postgres:15';
const rpcHosts = /** @type {const} */ (['rpc-1', 'rpc-2']);

/** @param {string} host @param {string} script */
const onHost = (host, script) => quiet({ input: script })`docker exec -i rpc-lab-${host} sh`;

/** @param {readonly string[]} args */
function controller(args) {
  const child = spawn(
    process.execPath,
    ['node_modules/zx/build/cli.js', 'playbooks/deploy.mjs', '--yes', ...args],
    {
      cwd: projectRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  /** @type {Promise<{ code: number | null, output: string }>} */
  const ended = new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
  return { ended, kill: () => child.kill('SIGKILL') };
}

/**
 * The lab's inventory under another name, so that the lab is not started first; and an outdated
 * one in which rpc-1 is the Database+Sync server. Both with their files in their own directory.
 */
function writeInventories() {
  const text = readFileSync(join(projectRoot, 'inventory/lab.yaml'), 'utf8');
  const document = parseDocument(text.replaceAll('../.lab/', join(projectRoot, '.lab/')));
  writeFileSync(current, document.toString({ lineWidth: 0 }));
  const [database, rpc] = ['database', 'rpc'].map((group) => document.toJS().groups[group]);
  const { 'rpc-1': first, ...others } = rpc;
  document.setIn(['groups', 'database'], document.createNode({ 'rpc-1': { ...first, region: 'lab-1' } }));
  document.setIn(
    ['groups', 'rpc'],
    document.createNode({ 'db-1': { address: database['db-1'].address }, ...others }),
  );
  document.setIn(['vars', 'paths'], document.createNode({ deployment: '/opt/stale/rpc-node' }));
  writeFileSync(stale, document.toString({ lineWidth: 0 }));
}

/**
 * @param {readonly string[]} args @throws Error if the lab cannot be brought to the start of the
 * races
 */
async function prepare(...args) {
  const { code, output } = await controller(args).ended;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${output}`);
}

/**
 * Options with which an operator may have the synchronizer started.
 *
 * @param {string} database
 */
const optionSets = (database) => [
  ['--role', 'sync'],
  ['--limit', database, '--role', 'sync'],
  ['--limit', 'database', '--role', 'sync'],
  ['--role', 'sync', '--start-at', 'sync is running with its configuration'],
  ['--limit', database, '--start-at', 'sync is running with its configuration'],
  ['--limit', 'database', '--role', 'one-synchronizer', '--role', 'sync'],
];

/**
 * A foreign synchronizer, as far as it is visible from outside: its command line, and nothing in
 * the database.
 */
const foreignWords = `-c 'trap "kill \\$!" TERM; sleep 600 & wait' /app/zkevm-node run --components synchronizer foreign`;
const foreignStarts = /** @type {const} */ ([
  ['container', `docker run -d --name twin --entrypoint sh ${databaseImage} ${foreignWords}`],
  ['process', `sh ${foreignWords} >/dev/null 2>&1 </dev/null & echo $! >/run/foreign`],
]);

async function clean() {
  const script = `docker rm -f twin sync; [ ! -f /run/foreign ] || { kill $(cat /run/foreign); rm /run/foreign; }; systemctl start ssh`;
  await Promise.all(rpcHosts.map((host) => onHost(host, script)));
}

/** @param {string} host */
const away = (host) => onHost(host, 'systemctl stop ssh');
/** @param {string} host */
const back = (host) => onHost(host, 'systemctl start ssh');

/**
 * One random order of events.
 *
 * @param {import('./random.mjs').Random} random
 * @returns {Promise<{ words: string[], ends: (number | null)[] }>}
 */
async function order(random) {
  /** @type {string[]} */
  const words = [];
  await clean();
  if (random.chance(0.7)) {
    words.push('sync removed');
    await onHost('db-1', 'docker rm -f sync');
  }
  const gone = random.chance(0.3) ? random.of(rpcHosts) : undefined;
  if (gone) {
    words.push(`${gone} away`);
    await away(gone);
  }
  const [kind, start] = random.of(foreignStarts);
  const foreignOn = random.chance(0.3) ? (gone ?? random.of(rpcHosts)) : undefined;
  const before = foreignOn !== undefined && (!gone || random.chance(0.5));
  if (foreignOn && before) {
    words.push(`${kind} on ${foreignOn}`);
    await onHost(foreignOn, start);
  }

  /** An operator who says that a host is stopped knows it: nothing is started there later. */
  const assumes = gone !== undefined && foreignOn === undefined && random.chance(0.3);
  const controllers = [0, 1].map((at) => {
    const isStale = at === 1 && random.chance(0.5);
    const options = random.of(optionSets(isStale ? 'rpc-1' : 'db-1'));
    const assumed = assumes ? ['--assume-stopped', gone] : [];
    return {
      after: at * random.below(7000),
      killed: random.chance(0.2) ? 1000 + random.below(5000) : undefined,
      args: ['-i', isStale ? stale : current, '--timeout', '2', ...options, ...assumed],
      words: `${isStale ? 'stale ' : ''}${[...options, ...assumed].join(' ')}`,
    };
  });
  const middle = random.below(5000);
  const [removes, returns] = [random.chance(0.2), gone !== undefined && random.chance(0.5)];
  const leaves = !gone && random.chance(0.2) ? random.of(rpcHosts) : undefined;

  const work = controllers.map(async ({ after, killed, args, words: said }, at) => {
    await sleep(after);
    const one = controller(args);
    const timer = killed === undefined ? undefined : setTimeout(one.kill, killed);
    const { code } = await one.ended;
    clearTimeout(timer);
    words.push(`${'AB'[at]} ${said} -> ${code ?? 'killed'}`);
    return code;
  });
  const events = async () => {
    await sleep(middle);
    if (foreignOn && !before) {
      words.push(`${kind} on ${foreignOn} meanwhile`);
      await onHost(foreignOn, start);
    }
    if (removes) {
      words.push('sync removed meanwhile');
      await onHost('db-1', 'docker rm -f sync');
    }
    if (returns && gone) {
      words.push(`${gone} back`);
      await back(gone);
    }
    if (leaves) {
      words.push(`${leaves} goes`);
      await away(leaves);
    }
  };
  const [ends] = await Promise.all([Promise.all(work), events()]);
  // Changes that a killed controller started on a host may still take effect.
  if (ends.includes(null)) await sleep(2000);
  return { words, ends };
}

console.log(`${orders} orders, seed ${values.seed}`);
await labUp({ log: console.error });
writeInventories();
await clean();
await prepare('-i', current);
await prepare('-i', stale, '--limit', 'rpc-1', '--role', 'configuration', '--role', 'state-db');

/** @type {Map<string, number>} */
const endings = new Map();
const ids = await quiet`docker inspect --format {{.Id}} ${hosts.map(({ container }) => container)}`;
const sampler = synchronizersSeen(ids.stdout.trim().split('\n'));
let done = 0;
let wrong = 0;
let started = 0;
try {
  for (; done < orders && Date.now() < end; done += 1) {
    // Each order has its own seed: a wrong one is repeated with --orders 1.
    const seed = Number(values.seed) + done;
    sampler.forget();
    const from = Date.now();
    const { words, ends } = await order(randomFrom(seed));
    const { beside, starts } = sampler.seen();
    started += starts;
    if (beside.length > 0) wrong += 1;
    for (const code of ends)
      endings.set(String(code ?? 'killed'), (endings.get(String(code ?? 'killed')) ?? 0) + 1);
    console.log(
      `${beside.length > 0 ? 'TWO ' : ''}${seed}: ${words.join('; ')}; ${starts} started in ${Math.round((Date.now() - from) / 1000)} s ${beside.join(', ')}`,
    );
  }
} finally {
  sampler.stop();
  await clean();
  await onHost('rpc-1', 'docker rm -f state-db; rm -rf /opt/stale /data/state-db');
  await prepare('-i', current).finally(() => rmSync(folder, { recursive: true }));
}
const ways = [...endings].toSorted().map(([code, count]) => `${code}: ${count}`);
console.log(
  `${started} synchronizers started; controllers ended with ${ways.join(', ')}; ${sampler.samples()} samples`,
);
console.log(`${done} orders, ${wrong} with two synchronizers`);
process.exitCode = wrong > 0 ? 1 : 0;
