import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Bytes of memory. */
const memory = 256 * 2 ** 20;
/** Its processor is so many times slower than one of this machine, which others keep busy. */
const slower = 25;
/** Ticks of a second in /proc/stat (USER_HZ of Linux). */
const ticks = 100;
/** Milliseconds between two looks at what its processes use. */
const pause = 200;

/**
 * A host with little memory and a slow processor, for tests that use up both without harm to this
 * machine. Two files have what its processes use, in the form of /proc/meminfo and /proc/stat: as
 * LXCFS shows a container its own memory and processor.
 */
export interface SmallHost {
  readonly files: { readonly meminfo: string; readonly stat: string };
  /** A process takes nearly all of the memory. */
  fillMemory(): void;
  /** A process takes all of the processor. */
  keepBusy(): void;
  /** Ends these processes. */
  freeMemory(): void;
  rest(): void;
  stop(): void;
}

/** @param folder for its files */
export function startSmallHost(folder: string): SmallHost {
  const files = { meminfo: join(folder, 'meminfo'), stat: join(folder, 'stat') };
  const [meminfoFile, statFile] = [openSync(files.meminfo, 'w'), openSync(files.stat, 'w')];
  const processes = new Map<'memory' | 'processor', ChildProcess>();
  let seen = { at: performance.now(), used: 0 };
  let [busy, idle, left] = [0, 0, 0];
  const look = () => {
    const [at, used] = [performance.now(), sum(processes.values(), ticksOf)];
    const passed = ((at - seen.at) * ticks) / 1000;
    // Where a process ended, its ticks are gone. What it did is spread over the next two seconds:
    // a tick of this machine is long there.
    const work = Math.min(left + Math.max(0, used - seen.used) * slower, passed + 2 * ticks);
    const worked = Math.min(passed, work);
    [busy, idle, left] = [busy + worked, idle + passed - worked, work - worked];
    seen = { at, used };
    // Over what is there, with the same length: a reader never finds half of it.
    writeSync(meminfoFile, meminfo(Math.max(0, memory - sum(processes.values(), residentOf))), 0);
    writeSync(statFile, stat(busy, idle), 0);
  };
  look();
  const looking = setInterval(look, pause);
  const run = (of: 'memory' | 'processor', program: string, ...words: string[]) => {
    // It ends with the process that started it, in any case.
    const all = ['--pdeathsig', 'KILL', program, ...words];
    processes.set(of, spawn('setpriv', all, { stdio: 'ignore' }));
  };
  const end = (of: 'memory' | 'processor') => {
    processes.get(of)?.kill('SIGKILL');
    processes.delete(of);
  };
  const hold = `const held = Buffer.alloc(${Math.round(0.8 * memory)}, 1); setInterval(() => held, 1e6)`;
  return {
    files,
    fillMemory: () => run('memory', process.execPath, '-e', hold),
    keepBusy: () => run('processor', 'sh', '-c', 'while :; do :; done'),
    freeMemory: () => end('memory'),
    rest: () => end('processor'),
    stop() {
      clearInterval(looking);
      for (const of of processes.keys()) end(of);
      for (const each of [meminfoFile, statFile]) closeSync(each);
    },
  };
}

function sum(processes: Iterable<ChildProcess>, of: (pid: number) => number): number {
  return [...processes].reduce((total, { pid = 0 }) => total + of(pid), 0);
}

/** A file of a process, empty where that has ended. */
function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

/** Its time of processors: utime and stime of proc(5), after the name in brackets. */
function ticksOf(pid: number): number {
  const fields = read(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ');
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

/** Bytes of it in memory. */
function residentOf(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(read(pid, 'status')) ?? [];
  return Number(kilobytes) * 1024;
}

function meminfo(available: number): string {
  const line = (name: string, bytes: number) =>
    `${name}:${String(Math.round(bytes / 1024)).padStart(16)} kB\n`;
  return line('MemTotal', memory) + line('MemFree', available) + line('MemAvailable', available);
}

function stat(busy: number, idle: number): string {
  const field = (value: number) => String(Math.round(value)).padStart(12, '0');
  const fields = `${field(busy)} 0 0 ${field(idle)} 0 0 0 0 0 0`;
  return `cpu  ${fields}\ncpu0 ${fields}\nbtime ${Math.round(Date.now() / 1000 - performance.now() / 1000)}\n`;
}
