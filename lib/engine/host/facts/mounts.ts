import { readScript, withArguments } from '../script.ts';
import type { Mount } from './facts.ts';
import { unescapeOctal } from './unescape-octal.ts';

const script = readScript(new URL('mounts.sh', import.meta.url));

/** A dead network file system hangs on every access, so these have their own command. */
export const localMountsCommand = withArguments(script, ['local']);
export const networkMountsCommand = withArguments(script, ['network']);

/**
 * @param text output of one of the commands. Where a directory is mounted over, the upper one
 * counts.
 */
export function parseMounts(text: string): Mount[] {
  const gap = /^$/m.exec(text)?.index ?? text.length;
  const sizes = new Map<string, { size: number; available: number }>();
  for (const [, unit, blocks, available, target = ''] of text
    .slice(gap)
    .matchAll(/^(\d+) (\d+) (\d+) (.*)$/gm)) {
    sizes.set(target, { size: Number(unit) * Number(blocks), available: Number(unit) * Number(available) });
  }
  const warned = new Set([...text.slice(gap).matchAll(/^data-loss (.*)$/gm)].map(([, target]) => target));
  const mounts = new Map<string, Mount>();
  for (const line of text.slice(0, gap).split('\n').filter(Boolean)) {
    const mount = parseLine(line);
    const saysDataLoss = warned.has(mount.target);
    mounts.set(mount.target, {
      ...mount,
      ...(sizes.get(mount.target) ?? { size: 0, available: 0 }),
      saysDataLoss,
    });
  }
  return [...mounts.values()];
}

/**
 * proc(5): id parent major:minor root target options tags… - type source
 * options-of-the-file-system
 */
function parseLine(line: string): Omit<Mount, 'size' | 'available' | 'saysDataLoss'> {
  const [own = '', above = ''] = line.split(' - ');
  const [, , number = '', root = '', target = '', options = ''] = own.split(' ');
  const [type = '', source = '', all = ''] = above.split(' ');
  return {
    target: unescapeOctal(target),
    source: unescapeOctal(source),
    root: unescapeOctal(root),
    number,
    type,
    // Either may be read-only by itself.
    options: [
      ...new Set([...options.split(','), ...all.split(',').filter((option) => option !== 'rw')]),
    ].filter((option, _, every) => option !== 'rw' || !every.includes('ro')),
  };
}
