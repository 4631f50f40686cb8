import { execFileSync, fork, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { downloadScript } from '../../lib/engine/resource/download/download-script.ts';
import { installMissing } from '../install-missing.ts';
import { machine, putSection, spread } from './page.ts';
import { block } from './transfer-server.mjs';

/** Milliseconds from a request to its response. */
const latency = 25;
const lines = [
  { title: '60 MB/s a connection', rate: 60e6 },
  { title: 'no limit', rate: 0 },
] as const;

const curl = 'curl --silent --show-error --fail --output "$0" -- "$1"';

/** A way to fetch a file: by a shell command, or by our download with a number of connections. */
const ways = [
  { title: 'plain curl', shell: curl },
  { title: 'plain curl, then sha256sum', shell: `${curl} && sha256sum "$0"` },
  { title: 'ours, 1 connection', connections: 1 },
  { title: 'ours, 4 connections', connections: 4 },
  { title: 'ours, 8 connections', connections: 8 },
] as const;

type Way = (typeof ways)[number];

/**
 * Measures all ways on all lines in turn, prints the table and writes it into the page.
 *
 * @param words `--megabytes N --rounds N`
 */
export async function measureTransfers(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { megabytes: { type: 'string', default: '2048' }, rounds: { type: 'string', default: '3' } },
  });
  const [megabytes, rounds] = [Number(values.megabytes), Number(values.rounds)];
  if (!(Number.isInteger(megabytes) && megabytes > 0 && Number.isInteger(rounds) && rounds > 0)) {
    throw new RangeError('--megabytes and --rounds take whole numbers from 1');
  }
  installMissing([['/usr/bin/curl', 'curl']]);
  const [load = 0] = loadavg();
  const size = megabytes * block.length;
  const hash = createHash('sha256');
  for (let count = 0; count < megabytes; count += 1) hash.update(block);
  const sha256 = hash.digest('hex');
  const folder = mkdtempSync(join(tmpdir(), 'transfer-'));
  try {
    const sections = [];
    for (const { title, rate } of lines) {
      const server = await startServer({ size, rate, latency });
      try {
        const times = ways.map((): number[] => []);
        for (let round = 0; round < rounds; round += 1) {
          for (const [at, way] of ways.entries()) {
            const seconds = await fetchOnce(way, server.url, sha256, folder);
            times[at]?.push(seconds);
            process.stderr.write(`${title}, round ${round + 1}, ${way.title}: ${seconds.toFixed(2)} s\n`);
          }
        }
        sections.push(section(title, times));
      } finally {
        server.stop();
      }
    }
    const command = `npm run bench:transfer -- --megabytes ${megabytes} --rounds ${rounds}`;
    const text = `${sections.join('\n')}\n${footer(command, { megabytes, rounds, load })}`;
    process.stdout.write(text);
    putSection('transfers', text);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startServer(line: object): Promise<{ readonly url: string; stop(): void }> {
  const child = fork(fileURLToPath(new URL('transfer-server.mjs', import.meta.url)), [JSON.stringify(line)]);
  const port = await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return { url: `http://127.0.0.1:${port}/file`, stop: () => child.disconnect() };
}

/**
 * @returns seconds from its start to its end
 */
async function fetchOnce(way: Way, url: string, sha256: string, folder: string): Promise<number> {
  const data = join(folder, 'data');
  mkdirSync(data);
  const path = join(data, 'file');
  const script = join(folder, 'script');
  const text =
    'connections' in way
      ? downloadScript({ url, path, sha256, connections: way.connections }, join(folder, 'status'))
      : way.shell;
  writeFileSync(script, text);
  const began = performance.now();
  const child = 'connections' in way ? [script] : ['-c', text, path, url];
  const running = spawn('/bin/sh', child, { stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise<number | null>((resolve) => running.on('exit', resolve));
  const seconds = (performance.now() - began) / 1000;
  if (code !== 0) throw new Error(`${way.title} ended with ${code}`);
  rmSync(data, { recursive: true });
  // Unwritten data of one run must not slow down the next one.
  execFileSync('sync');
  return seconds;
}

function section(title: string, times: readonly (readonly number[])[]): string {
  const plain = times[0] ?? [];
  const rows = ways.map(({ title: way }, at) => {
    const own = times[at] ?? [];
    const ratios = own.map((value, round) => value / (plain[round] ?? Number.NaN));
    return `| ${way} | ${spread(own, seconds)} | ${at === 0 ? '' : spread(ratios, seconds)} |`;
  });
  return `
### One file, ${title}

| | wall, s | times plain curl |
|---|---|---|
${rows.join('\n')}
`;
}

const seconds = (value: number): string => value.toFixed(2);

function footer(command: string, { megabytes, rounds, load }: Readonly<Record<string, number>>): string {
  const version = (program: string): string =>
    execFileSync(program, ['--version'], { encoding: 'utf8' }).split('\n')[0]?.replace(/ \(.*/, '') ?? '';
  const where = `${machine}, server and client on it, load average ${load?.toFixed(1)} before`;
  return `${new Date().toISOString().slice(0, 10)}, ${rounds} rounds of ${megabytes} MiB. \`${command}\`. ${where}. ${version('curl')}, Node ${process.versions.node}.\n`;
}
