import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { installMissing } from '../../install-missing.ts';
import { gatewayPage, machine, median, putSection, spread } from '../page.ts';
import { largeAnswer, proxies, startRpcHosts } from './proxies.ts';

/** What clients send. */
interface Case {
  readonly title: string;
  readonly body: string;
  readonly headers?: string;
}

type Name = keyof typeof proxies;

/** One run of a proxy under load. */
interface Run {
  /** Microseconds of the proxy's processor time for each request. */
  readonly cost: number;
  /** Requests in a second. */
  readonly rate: number;
}

const call = (method: string, params: readonly unknown[]) => ({ jsonrpc: '2.0', id: 1, method, params });
const account = `0x${'c'.repeat(40)}`;
const small = call('eth_getBalance', [account, 'latest']);

const cases: readonly Case[] = [
  { title: 'a request of 100 bytes', body: JSON.stringify(small) },
  { title: 'a batch of 20', body: JSON.stringify(Array.from({ length: 20 }, () => small)) },
  { title: 'an answer of 1 MB', body: JSON.stringify(small), headers: largeAnswer },
  {
    title: 'a raw transaction of 100 kB',
    body: JSON.stringify(call('eth_sendRawTransaction', [`0x${'d'.repeat(100_000)}`])),
  },
];
const threads = [1, 2] as const;
const names = Object.keys(proxies) as Name[];

/**
 * Measures each proxy with each case and number of threads, in turn, prints the tables and writes
 * them into the page.
 *
 * @param words `--seconds N --rounds N`
 * @throws RangeError for other numbers than whole ones from 1
 */
export async function measureGateways(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '5' } },
  });
  const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
  if (!(Number.isInteger(seconds) && seconds > 0 && Number.isInteger(rounds) && rounds > 0)) {
    throw new RangeError('--seconds and --rounds take whole numbers from 1');
  }
  installMissing([
    ['/usr/sbin/haproxy', 'haproxy'],
    ['/usr/sbin/nginx', 'nginx-light'],
    ['/usr/bin/wrk', 'wrk'],
  ]);
  const [load = 0] = loadavg();
  const folder = mkdtempSync(join(tmpdir(), 'bench-gateway-'));
  try {
    const sections = [];
    for (const one of cases)
      sections.push(section(one.title, await measureCase(one, folder, seconds, rounds)));
    const command = `npm run bench:gateway -- --seconds ${seconds} --rounds ${rounds}`;
    const date = new Date().toISOString().slice(0, 10);
    const text = `${sections.join('\n')}
${date}, ${rounds} rounds of ${seconds} s, wrk with 32 connections. \`${command}\`. ${machine}; clients, proxy and hosts on it, load average
${load.toFixed(1)} before.
`;
    process.stdout.write(text);
    putSection('gateway', text, gatewayPage);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The runs by proxy and number of threads, in the order of the rounds. */
type Runs = Map<string, Run[]>;

const keyOf = (name: Name, count: number) => `${name}, ${count} thread${count === 1 ? '' : 's'}`;

async function measureCase(one: Case, folder: string, seconds: number, rounds: number): Promise<Runs> {
  const runs: Runs = new Map();
  const script = join(folder, 'request.lua');
  writeFileSync(script, wrkScript(one));
  for (let round = 0; round < rounds; round += 1) {
    for (const count of threads) {
      for (const name of names) {
        const run = await measureRun({ name, count, script, seconds, folder });
        const key = keyOf(name, count);
        runs.set(key, [...(runs.get(key) ?? []), run]);
        process.stderr.write(
          `${one.title}, round ${round + 1}, ${key}: ${run.cost.toFixed(1)} µs, ${run.rate.toFixed(0)} a second\n`,
        );
      }
    }
  }
  return runs;
}

interface Plan {
  readonly name: Name;
  /** Of the proxy's threads. */
  readonly count: number;
  /** For wrk. */
  readonly script: string;
  readonly seconds: number;
  readonly folder: string;
}

async function measureRun({ name, count, script, seconds, folder }: Plan): Promise<Run> {
  const own = join(folder, 'run');
  mkdirSync(own);
  const rpcHosts = await startRpcHosts(own);
  try {
    const proxy = await proxies[name](own, count);
    try {
      await runWrk(proxy.port, script, 1);
      const before = proxy.processorSeconds();
      const requests = await runWrk(proxy.port, script, seconds);
      const used = proxy.processorSeconds() - before;
      return { cost: (used / requests) * 1e6, rate: requests / seconds };
    } finally {
      await proxy.stop();
    }
  } finally {
    await rpcHosts.stop();
    rmSync(own, { recursive: true, force: true });
  }
}

/**
 * @returns the requests that were answered
 * @throws Error if one was answered with an error, or not at all
 */
async function runWrk(port: number, script: string, seconds: number): Promise<number> {
  const words = [
    '-t1',
    '-c32',
    `-d${seconds}s`,
    '--timeout',
    '30s',
    '-s',
    script,
    `http://127.0.0.1:${port}/`,
  ];
  const { stdout } = await promisify(execFile)('wrk', words);
  const result = /^RESULT (\d+) (\d+)$/m.exec(stdout);
  if (!result) throw new Error(`wrk says: ${stdout}`);
  if (result[2] !== '0') throw new Error(`${result[2]} requests failed: ${stdout}`);
  return Number(result[1]);
}

function wrkScript({ body, headers = '' }: Case): string {
  const [name = '', value = ''] = headers.split(': ');
  return `wrk.method = "POST"
wrk.body = [==[${body}]==]
wrk.headers["Content-Type"] = "application/json"
${name === '' ? '' : `wrk.headers["${name}"] = "${value}"`}
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %d %d\\n", summary.requests, e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

function section(title: string, runs: Runs): string {
  const rows = threads.flatMap((count) => {
    const plain = runs.get(keyOf('plain HAProxy', count)) ?? [];
    return names.map((name) => {
      const own = runs.get(keyOf(name, count)) ?? [];
      const ratios = own.map(({ cost }, round) => cost / (plain[round]?.cost ?? Number.NaN));
      const cost = spread(
        own.map((run) => run.cost),
        (value) => value.toFixed(0),
      );
      const times = name === 'plain HAProxy' ? '' : spread(ratios, (value) => value.toFixed(2));
      return `| ${keyOf(name, count)} | ${cost} | ${times} | ${median(own.map(({ rate }) => rate)).toFixed(0)} |`;
    });
  });
  return `## ${title[0]?.toUpperCase()}${title.slice(1)}

| | processor for each request, µs | times plain HAProxy | requests a second |
|---|---|---|---|
${rows.join('\n')}
`;
}
