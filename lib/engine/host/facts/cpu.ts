import { readScript } from '../script.ts';

export const cpuCommand = readScript(new URL('cpu.sh', import.meta.url));

/**
 * The clock is the highest one known: the maximum, not the current power-saving value. The
 * processor's name may contain it, too (`@ 3.20GHz`).
 */
export function parseCpu(text: string) {
  const [processors = '', highest = ''] = text.split(/^max\n/m);
  const lines = processors.split('\n').map(keyAndValue);
  const first = new Map(lines.slice(0, processors.split('\n').indexOf('')));
  const clocks = lines.filter(([key]) => key === 'cpu MHz').map(([, value]) => Number(value));
  const model = first.get('model name') ?? first.get('Model') ?? first.get('Hardware') ?? '';
  const named = Number(/@ *([\d.]+) *GHz/.exec(model)?.[1] ?? 0) * 1000;
  return {
    count: lines.filter(([key]) => key === 'processor').length,
    mhz: Math.max(0, named, Number(highest) / 1000, ...clocks),
    model,
    flags: (first.get('flags') ?? first.get('Features') ?? '').split(' ').filter(Boolean),
  };
}

/**
 * `model name\t: Intel …`. By hand: a pattern with white space on both sides of the colon would
 * try every space of a long line.
 */
function keyAndValue(line: string): [string, string] {
  const at = line.indexOf(':');
  return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}
