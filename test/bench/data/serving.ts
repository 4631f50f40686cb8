import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { startStandby, workshop } from '../../kinds/physical-server.ts';
import type { Postgres } from '../../postgres.ts';

/** Selects of clients of a server. */
export interface Served {
  /** Milliseconds that 99 of 100 took at most. */
  readonly p99: number;
  readonly answered: number;
  readonly failed: number;
}

/**
 * Selects of the server while nothing else runs, and while a snapshot of its replica is taken: on
 * processors of the replica's own, and on those of the server.
 */
export interface Serving {
  readonly quiet: Served;
  readonly apart: Served;
  readonly shared: Served;
}

/**
 * Measures a server while a snapshot is taken of its replica.
 *
 * @param folder for the replica, the snapshot and the logs of the clients
 */
export async function measureServing(source: Postgres, folder: string, piece: number): Promise<Serving> {
  mkdirSync(folder, { mode: 0o755 });
  const standby = await startStandby(folder, source);
  const shop = workshop(folder, standby);
  const whileTaken = async () => {
    const taken = shop.take(join(folder, 'taken'), { PIECE: piece });
    const whole = taken.ended.then(({ code, said }) => {
      if (code !== 0) throw new Error(said);
    });
    const answers = clients(source, folder, undefined, whole);
    await whole;
    rmSync(join(folder, 'taken'), { recursive: true });
    return answers;
  };
  try {
    pin(source.pid, servers);
    for (const pid of [standby.pid, process.pid]) pin(pid, replicas);
    await clients(source, folder, 10);
    const quiet = await clients(source, folder, 30);
    const apart = await whileTaken();
    for (const pid of [standby.pid, process.pid]) pin(pid, every);
    return { quiet, apart, shared: await whileTaken() };
  } finally {
    for (const pid of [source.pid, process.pid]) pin(pid, every);
    shop.remove();
    await standby.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const count = cpus().length;
const half = Math.ceil(count / 2);
/** Processors of the server and its clients, of the replica, and of all. */
const [servers, replicas, every] = [
  `0-${half - 1}`,
  `${Math.min(half, count - 1)}-${count - 1}`,
  `0-${count - 1}`,
];

/** What a process starts from now on runs on some processors. */
function pin(pid: number, processors: string): void {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', processors, String(pid)], {
    stdio: 'ignore',
  });
}

/** Four clients that select logs and nodes, 200 times a second together, as an RPC server does. */
async function clients(
  server: Postgres,
  folder: string,
  seconds = 600,
  until?: Promise<void>,
): Promise<Served> {
  const logs = join(folder, 'selects');
  mkdirSync(logs);
  const script = join(logs, 'select.sql');
  writeFileSync(
    script,
    `\\set n random(1, 40000)
select * from state.l2block where block_num = :n;
select * from state.log where tx_hash = '0x' || encode(sha256(:n::text::bytea), 'hex');\n`,
  );
  const words = ['-n', '-f', script, '-c', '4', '-j', '1', '-R', '200', '-T', String(seconds), '-l'];
  const program = ['--cpu-list', servers, '/usr/lib/postgresql/15/bin/pgbench'];
  const pgbench = spawn('taskset', [...program, ...words, 'source_state'], {
    cwd: logs,
    env: { ...process.env, ...server.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  pgbench.stderr.on('data', (text) => {
    said += text;
  });
  const ended = new Promise((resolve) => pgbench.once('exit', resolve));
  await Promise.race([ended, until ?? ended]);
  pgbench.kill('SIGTERM');
  await ended;
  const served = latencies(logs);
  rmSync(logs, { recursive: true });
  return { ...served, failed: said.split('\n').filter((line) => /error|aborted/i.test(line)).length };
}

/** Of the logs of pgbench: the third field is the time of a transaction in microseconds. */
function latencies(folder: string): Pick<Served, 'p99' | 'answered'> {
  const times = readdirSync(folder)
    .filter((name) => name.startsWith('pgbench_log'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .map((line) => line.split(' '))
    // Time in the queue of the rate limit is the client's own.
    .map((fields) => Number(fields[2]) - Number(fields[6] ?? 0))
    .filter((time) => time > 0)
    .toSorted((a, b) => a - b);
  return { p99: (times[Math.floor(times.length * 0.99)] ?? Number.NaN) / 1000, answered: times.length };
}
