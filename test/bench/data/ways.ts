import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PhysicalManifest } from '../../../lib/node/variables/manifest.ts';
import { startUnpacked, type workshop } from '../../kinds/physical-server.ts';
import { type Postgres, startPostgres } from '../../postgres.ts';
import { type Cost, costOf } from './cost.ts';
import { databases, rowsOf, serverSettings } from './made.ts';

/** A snapshot that was taken, and where its pieces are served. */
export interface Taken {
  readonly folder: string;
  readonly url: string;
  readonly manifest: PhysicalManifest;
  readonly rows: string;
}

/** How many at the same time, and on how many processors (0: all). */
export interface Limits {
  readonly connections: number;
  readonly cores: number;
}

const port = 28391;

/** A link of 1 Gbit/s gives 94 of 100 of its bits to the content. Bytes in a second. */
export const gigabitLink = (1e9 / 8) * 0.94;

/**
 * nginx serves a folder on loopback.
 *
 * @param rate of each connection, bytes in a second; 0: without a limit
 */
export async function serveFolder(folder: string, work: string, rate = 0) {
  const file = join(work, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; user root; worker_processes 2; pid ${work}/nginx.pid; error_log stderr crit;
events { worker_connections 64; }
http { access_log off; sendfile on; limit_rate ${Math.round(rate)}; server { listen 127.0.0.1:${port}; root ${folder}; } }\n`,
  );
  const nginx = spawn('nginx', ['-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  await delay(1000);
  if (nginx.exitCode !== null) throw new Error(`nginx ended with ${nginx.exitCode}`);
  const ended = new Promise((resolve) => nginx.once('exit', resolve));
  const stop = () => {
    nginx.kill();
    return ended;
  };
  return { url: `http://127.0.0.1:${port}/`, stop };
}

/** The same state of the caches before each way: the pieces in memory, nothing left to write. */
function settle(folder: string): void {
  execFileSync('sh', ['-c', `cat ${folder}/piece-* >/dev/null; sync`]);
}

const pinned = ({ cores }: Limits) => (cores === 0 ? '' : `taskset -pc 0-${cores - 1} $$ >/dev/null\n`);

/** Each piece by a command, several at the same time. `$1`: its name, `$2`: where it goes. */
async function eachPiece(taken: Taken, target: string, limits: Limits, command: string): Promise<Cost> {
  mkdirSync(target);
  settle(taken.folder);
  const names = taken.manifest.pieces.map(({ file }) => file).join('\n');
  const text = `printf '%s\\n' '${names}' | xargs -P ${limits.connections} -I % sh -euc '${command}' sh % ${target}/%`;
  try {
    return await costOf(async (enter) => {
      const child = spawn('sh', ['-euc', enter + pinned(limits) + text], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const code = await new Promise((resolve) => child.once('exit', resolve));
      if (code !== 0) throw new Error(`${command} ended with ${code}`);
    });
  } finally {
    rmSync(target, { recursive: true });
    execFileSync('sync');
  }
}

export const byCurl = (taken: Taken, target: string, limits: Limits) =>
  eachPiece(taken, target, limits, `curl --silent --show-error --fail --output "$2" ${taken.url}"$1"`);

export const byZstd = (taken: Taken, target: string, limits: Limits) =>
  eachPiece(taken, target, limits, `zstd -dcq "${taken.folder}/$1" >"$2"; sync "$2"`);

/**
 * A data directory from the snapshot, as a deployment makes it, with all its proofs.
 *
 * @throws Error where a row is missing
 */
export async function bySnapshot(
  shop: ReturnType<typeof workshop>,
  taken: Taken,
  target: string,
  limits: Limits,
): Promise<Cost> {
  const data = join(target, 'state-db');
  mkdirSync(target, { mode: 0o755 });
  settle(taken.folder);
  try {
    const cost = await costOf(async (enter) => {
      const words = { CONNECTIONS: limits.connections, PROVER_DATABASE: 'new_hashes' };
      const { ended } = shop.unpack(taken.url, data, taken.manifest, words, enter + pinned(limits));
      const { code, said } = await ended;
      if (code !== 0) throw new Error(said);
    }, `${data}.rpc-node-copy/pieces`);
    await expectRows(target, data, taken.rows);
    return cost;
  } finally {
    shop.stopContainers();
    rmSync(target, { recursive: true, force: true });
    execFileSync('sync');
  }
}

async function expectRows(parent: string, data: string, rows: string): Promise<void> {
  const copy = await startUnpacked(parent, data, 'mv');
  const names = new Map([
    ['source_state', 'new_state_db'],
    ['source_hashes', 'new_hashes'],
  ]);
  try {
    const found = rowsOf({ sql: (database, query) => copy.sql(names.get(database) ?? database, query) });
    if (found !== rows) throw new Error(`the copy has ${found}, and the source has ${rows}`);
  } finally {
    await copy.stop();
  }
}

/** Dumps both databases, in the form that several jobs can restore. */
export function dump(server: Postgres, folder: string): void {
  mkdirSync(folder);
  for (const name of databases)
    execFileSync('pg_dump', ['-Fd', '-Z1', '-j2', '-f', join(folder, name), name], {
      env: { ...process.env, ...server.environment },
    });
}

/** Both databases by `pg_restore` with four jobs, into an empty server that runs already. */
export async function byRestore(parent: string, dumped: string, rows: string): Promise<Cost> {
  const server = await startPostgres(parent, serverSettings);
  try {
    server.sql('postgres', 'create role source_prover login');
    for (const name of databases) server.sql('postgres', `create database ${name}`);
    execFileSync('sync');
    const commands = databases.map((name) => `pg_restore -e -j4 -d ${name} ${join(dumped, name)}`);
    // Its work is done by the server, so the processor time is not that of the command.
    const began = performance.now();
    for (const command of commands) {
      const child = spawn('sh', ['-euc', command], {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, ...server.environment },
      });
      const code = await new Promise((resolve) => child.once('exit', resolve));
      if (code !== 0) throw new Error(`${command} ended with ${code}`);
    }
    const seconds = (performance.now() - began) / 1000;
    if (rowsOf(server) !== rows) throw new Error('pg_restore did not restore everything');
    return { seconds, processorSeconds: 0, memory: 0 };
  } finally {
    await server.stop();
    if (existsSync(parent)) execFileSync('sync');
  }
}
