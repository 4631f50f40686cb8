import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { floorScript } from './floor.ts';
import type { Hosts } from './hosts.ts';
import { type Command, type Cost, measure } from './measure.ts';
import { machine, putSection, spread } from './page.ts';
import { tools } from './tools.ts';
import { ways } from './ways.mjs';
import { workload } from './workload.ts';

const rounds = 3;
const firstPort = 2200;
/** Of the second measurement: every fifth host has a fault. */
const faultyEach = 5;
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Measures a run with nothing to do on many hosts: SSH servers of this benchmark, which answer as
 * one real host did. Once all are well, and once every fifth has one of ten faults. Writes both
 * into the page.
 */
export async function measureLight(hosts: Hosts, count: number, directory: string): Promise<void> {
  const record = join(directory, 'record');
  await recordOne(hosts, directory, record);
  const key = join(directory, 'host-001/ssh_host_ed25519_key');
  await startServers(record, key, hosts.identityFile);

  const all = Array.from({ length: count }, () => 0);
  const well = await measureRuns(commandFor(all, hosts, directory, key, [0]), ({ good }) => good === count);
  const some = all.map((_, at) => (at % faultyEach === 0 ? 1 + ((at / faultyEach) % (ways.length - 1)) : 0));
  const rest = some.filter((way) => way === 0).length;
  const faulty = await measureRuns(
    commandFor(some, hosts, directory, key, [1, 4]),
    ({ good }) => good === rest,
  );
  const row = (title: string, { runs, memory }: Measured) => {
    const wall = spread(
      runs.map((run) => run.wall),
      (value) => value.toFixed(1),
    );
    const cpu = spread(
      runs.map((run) => (run.cpu / count) * 1000),
      (value) => value.toFixed(1),
    );
    return `| ${title} | ${wall} | ${cpu} | ${(memory / 2 ** 20).toFixed(0)} |`;
  };
  const day = new Date().toISOString().slice(0, 10);
  putSection(
    'light',
    `| ${count} hosts | wall, s | processor for each host, ms | peak MB |
|---|---|---|---|
${row('all are well', well)}
${row(`${count - rest} of them faulty; the other ${rest} are as before`, faulty)}

${day}, ${rounds} rounds, \`npm run bench -- --light ${count}\`. ${machine}, servers on it, too. Node ${process.versions.node}.
`,
  );
}

interface Measured {
  readonly runs: readonly Cost[];
  /** Bytes. */
  readonly memory: number;
}

/** What a run reports: the number of its hosts, and of those that needed nothing. */
interface Found {
  readonly hosts: number;
  readonly good: number;
}

/** Converges one real host, and records the answers of the next run. */
async function recordOne(hosts: Hosts, directory: string, record: string): Promise<void> {
  await hosts.runOn(hosts.all.slice(0, 1), floorScript(workload, 'apply'));
  const targets = hosts.all.slice(0, 1).map(({ name, address }) => ({ name, address }));
  const { identityFile, knownHostsFile } = hosts;
  const command = tools.ours.command({ hosts: targets, identityFile, knownHostsFile, directory }, 'noop');
  const hook = here('record-host.mjs');
  await measure({ ...command, env: { RECORD: record, NODE_OPTIONS: `--import ${hook}` } }, false);
}

async function startServers(record: string, key: string, otherKey: string): Promise<void> {
  const args = [here('light-hosts.mjs'), record, key, otherKey, String(firstPort)];
  const running = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    running.stdout.once('data', () => resolve());
    running.on('exit', () => reject(new Error('the light hosts ended')));
  });
}

/**
 * Our command for hosts that behave in these ways.
 *
 * @param ends exit codes that mean success
 */
function commandFor(
  given: readonly number[],
  hosts: Hosts,
  directory: string,
  key: string,
  ends: number[],
): Command {
  const hostKey = readFileSync(`${key}.pub`, 'utf8').split(' ', 2).join(' ');
  const lines = given.map((way, at) => {
    const address = `127.1.${1 + Math.floor(at / 200)}.${1 + (at % 200)}`;
    return `    h${at}: { address: ${address}, port: ${firstPort + way}, host_key: ${hostKey} }\n`;
  });
  const inventory = join(directory, 'light.yaml');
  const text = `ssh: { user: root, identity_file: ${hosts.identityFile} }\ngroups:\n  servers:\n${lines.join('')}`;
  writeFileSync(inventory, text);
  const command = tools.ours.command({ ...hosts, hosts: [], directory }, 'noop');
  const [node = '', zx = '', script = ''] = command.argv;
  return {
    ...command,
    argv: [node, zx, script, '--inventory', inventory, '--yes', '--json', '--timeout', '5'],
    ends,
  };
}

/**
 * @throws Error if a run did not report what is expected
 */
async function measureRuns(command: Command, isRight: (found: Found) => boolean): Promise<Measured> {
  const { memory = 0 } = await measure(command, true);
  const runs: Cost[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const cost = await measure(command, false);
    const found = foundIn(cost.output);
    if (!isRight(found)) throw new Error(`a run on many hosts reported ${JSON.stringify(found)}`);
    console.error(`light hosts: ${cost.wall.toFixed(1)} s, ${JSON.stringify(found)}`);
    runs.push(cost);
  }
  return { runs, memory };
}

function foundIn(output: string): Found {
  const last =
    output.split('\n').findLast((line) => line.includes('"type":"run-finished"')) ?? '{"hosts":[]}';
  const {
    hosts,
  }: { hosts: { unreachable: boolean; stopped?: string; counts: { failed: number; changed: number } }[] } =
    JSON.parse(last);
  const good = hosts.filter(
    (host) => !host.unreachable && !host.stopped && host.counts.failed + host.counts.changed === 0,
  );
  return { hosts: hosts.length, good: good.length };
}
