import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { cgroupFor } from './cgroup.ts';

/** A program to run as the controller. */
export interface Command {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Exit codes that mean success. */
  readonly ends: readonly number[];
}

/** The cost of one run. */
export interface Cost {
  /** Seconds from its start to its end. */
  readonly wall: number;
  /** Processor seconds of all its processes, also of those that remain. */
  readonly cpu: number;
  /** Peak memory of all its processes, in bytes. undefined if it was not watched. */
  readonly memory: number | undefined;
  readonly output: string;
}

let runs = 0;

/**
 * Runs a controller to its end, in its own control group; remaining processes are killed.
 *
 * @param watch reads its memory all the time, which takes time itself
 * @throws Error with the end of its output if it fails
 */
export async function measure({ argv, env = {}, cwd, ends }: Command, watch: boolean): Promise<Cost> {
  runs += 1;
  const group = cgroupFor(`run-${runs}`);
  const began = performance.now();
  const running = spawn('sh', ['-c', 'echo $$ >"$0/cgroup.procs"; exec "$@"', group.path, ...argv], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  for (const stream of [running.stdout, running.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  let ended = false;
  const end = new Promise<{ code: number | null; wall: number }>((resolve, reject) => {
    running.on('error', reject);
    running.on('exit', (code) => {
      ended = true;
      resolve({ code, wall: (performance.now() - began) / 1000 });
    });
  });
  let memory: number | undefined;
  while (watch && !ended) {
    const looked = performance.now();
    memory = Math.max(memory ?? 0, sizeOf(group.processes()));
    // At most a tenth of the time is spent on reading.
    await delay(Math.max(20, 10 * (performance.now() - looked)));
  }
  const { code, wall } = await end;
  const cpu = group.seconds();
  await group.end();
  const output = Buffer.concat(chunks).toString();
  if (code === null || !ends.includes(code)) {
    throw new Error(`${argv.join(' ')} ended with ${code}:\n${output.slice(-4000)}`);
  }
  return { wall, cpu, memory, output };
}

/**
 * Private memory, plus shared memory counted once; of programs and libraries, the largest amount
 * that one process has.
 */
function sizeOf(pids: readonly number[]): number {
  let own = 0;
  let files = 0;
  for (const pid of pids) {
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      own += kilobytes(rollup, 'Pss_Anon') + kilobytes(rollup, 'Pss_Shmem');
      files = Math.max(files, kilobytes(readFileSync(`/proc/${pid}/status`, 'utf8'), 'RssFile'));
    } catch {
      // It has ended meanwhile.
    }
  }
  return (own + files) * 1024;
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
}

/** No agent and no settings of the user who runs the benchmark. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, LC_ALL: 'C.UTF-8' };
}
