import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** What was used of all processors until a moment, in ticks, and by this process, in microseconds. */
interface Used {
  readonly busy: number;
  readonly all: number;
  readonly own: number;
  readonly at: number;
}

function used(): Used {
  // proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
  const ticks = (/^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? '')
    .split(' ')
    .slice(0, 8)
    .map(Number);
  const all = ticks.reduce((sum, each) => sum + each, 0);
  const { user, system } = process.cpuUsage();
  return {
    busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0),
    all,
    own: user + system,
    at: performance.now(),
  };
}

/**
 * Measures how much of this machine's processors works, and how much of them this process has.
 *
 * @returns ends it, and says both in words
 */
export function processorShare(): () => string {
  const before = used();
  return () => {
    const now = used();
    const machine = (now.busy - before.busy) / (now.all - before.all);
    const own = (now.own - before.own) / ((now.at - before.at) * 1000 * availableParallelism());
    const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
    return `processors ${percent(machine)} busy, ${percent(own)} by the clients`;
  };
}
