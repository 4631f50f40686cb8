import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/** Selects of the server while nothing else runs, and while a snapshot of its replica is taken. */
export interface Serving {
  readonly quiet: Served;
  readonly taking: Served;
  readonly seconds: number;
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
  try {
    await clients(source, folder, 10);
    const quiet = await clients(source, folder, 30);
    const taken = shop.take(join(folder, 'taken'), { PIECE: piece });
    const began = performance.now();
    let seconds = 0;
    const whole = taken.ended.then(({ code, said }) => {
      seconds = (performance.now() - began) / 1000;
      if (code !== 0) throw new Error(said);
    });
    const answers = clients(source, folder, undefined, whole);
    await whole;
    return { quiet, taking: await answers, seconds };
  } finally {
    shop.remove();
    await standby.stop();
    rmSync(folder, { recursive: true, force: true });
  }
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
  const pgbench = spawn('/usr/lib/postgresql/15/bin/pgbench', [...words, 'source_state'], {
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
