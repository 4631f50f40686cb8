import type { Facts } from './facts.ts';

/** The first processor in full, how many there are, each one's clock, and the highest clock in kHz where the kernel says it. */
export const cpuCommand = `sed '/^$/q' /proc/cpuinfo
grep -c '^processor' /proc/cpuinfo
grep '^cpu MHz' /proc/cpuinfo|sed 's/.*: *//'
echo max
cat /sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq 2>/dev/null
exit 0`;

/**
 * The clock is the highest one known: what a processor can do, not how it saves power at the moment. Its name may say it, too
 * (`@ 3.20GHz`).
 */
export function parseCpu(text: string): Facts['cpu'] {
  const gap = text.indexOf('\n\n');
  const first = new Map(text.slice(0, gap).split('\n').map(keyAndValue));
  const [counts = '', highest = ''] = text.slice(gap + 2).split(/^max\n/m);
  const [count, ...clocks] = counts.split('\n').filter(Boolean).map(Number);
  const model = first.get('model name') ?? first.get('Model') ?? first.get('Hardware') ?? '';
  const named = Number(/@ *([\d.]+) *GHz/.exec(model)?.[1] ?? 0) * 1000;
  return {
    count: count ?? 0,
    mhz: Math.max(0, named, Number(highest) / 1000, ...clocks),
    model,
    flags: (first.get('flags') ?? first.get('Features') ?? '').split(' ').filter(Boolean),
  };
}

/** `model name\t: Intel …`. By hand: a pattern with white space on both sides of the colon would try every space of a long line. */
function keyAndValue(line: string): [string, string] {
  const at = line.indexOf(':');
  return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}
