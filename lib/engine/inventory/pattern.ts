import { Problem } from '../problem/problem.ts';
import { fitsInOrder } from '../text/glob.ts';
import { didYouMean } from '../text/suggest.ts';
import type { Inventory, InventoryHost } from './inventory.ts';

/**
 * The hosts that a pattern names, in the order of the inventory.
 *
 * A pattern is a list, separated by commas, of host names, group names, `all`, and globs (`*`, `?`, `[ab]`) over both. A term that
 * starts with `&` keeps only its hosts, one that starts with `!` takes its hosts away; these two count after all others, and alone
 * they start from all hosts. `name[1]`, `name[1:3]`, `name[1:]` and `name[-1]` pick hosts by position, from 0, both ends included.
 *
 * @throws Problem for a term that names nothing, with the nearest name
 */
export function selectHosts<V>(inventory: Pick<Inventory<V>, 'hosts'>, pattern: string): readonly InventoryHost<V>[] {
  const terms = pattern
    .split(',')
    .map((term) => term.trim())
    .filter((term) => term !== '');
  if (terms.length === 0) throw new Problem('the host pattern is empty', { hint: 'name a host, a group, or all' });

  const matching = (term: string): Set<InventoryHost<V>> => new Set(namedBy(inventory.hosts, term));
  const plain = terms.filter((term) => !/^[!&]/.test(term));
  let chosen = new Set(plain.length > 0 ? plain.flatMap((term) => [...matching(term)]) : inventory.hosts);
  for (const term of terms.filter((t) => t.startsWith('&'))) {
    const keep = matching(term.slice(1));
    chosen = new Set([...chosen].filter((host) => keep.has(host)));
  }
  for (const term of terms.filter((t) => t.startsWith('!'))) {
    const drop = matching(term.slice(1));
    chosen = new Set([...chosen].filter((host) => !drop.has(host)));
  }
  if (chosen.size === 0) throw new Problem(`no host is left by the pattern "${pattern}"`);
  return inventory.hosts.filter((host) => chosen.has(host));
}

function namedBy<V>(hosts: readonly InventoryHost<V>[], term: string): readonly InventoryHost<V>[] {
  const subscript = /^(.+)\[(-?\d+)(?:(:)(-?\d+)?)?\]$/.exec(term);
  // `rpc-[12]` is a glob where nothing is called `rpc-`.
  const position = subscript && matched(hosts, subscript[1] ?? '').length > 0 ? subscript : undefined;
  const name = position?.[1] ?? term;
  const found = matched(hosts, name);
  if (found.length === 0) {
    const known = [...new Set([...hosts.flatMap((host) => [host.name, ...host.groups]), 'all'])];
    throw new Problem(`no host or group is called "${name}"`, { hint: didYouMean(name, known) });
  }
  if (!position) return found;
  const asIndex = (text: string): number => (Number(text) < 0 ? found.length + Number(text) : Number(text));
  const from = asIndex(position[2] ?? '0');
  const to = position[3] === undefined ? from : position[4] === undefined ? found.length - 1 : asIndex(position[4]);
  const picked = found.filter((_, i) => i >= from && i <= to);
  if (picked.length === 0) {
    throw new Problem(
      `"${term}" picks nothing: ${name} has ${found.length} host${found.length === 1 ? '' : 's'}, counted from 0`,
    );
  }
  return picked;
}

function matched<V>(hosts: readonly InventoryHost<V>[], name: string): readonly InventoryHost<V>[] {
  const fits = globOf(name);
  return hosts.filter((host) => name === 'all' || fits(host.name) || host.groups.some(fits));
}

/** `*` any text, `?` one character, `[ab]` one of these; all else stands for itself. */
function globOf(pattern: string): (text: string) => boolean {
  const pieces = [''];
  for (const [piece] of pattern.matchAll(/\[!?[^\]]+\]|\*+|[\s\S]/g)) {
    if (piece.startsWith('*')) pieces.push('');
    else pieces.push((pieces.pop() ?? '') + sourceOf(piece));
  }
  try {
    for (const piece of pieces) new RegExp(piece);
  } catch {
    throw new Problem(`"${pattern}" is not a host pattern`);
  }
  return (text) => fitsInOrder(text, pieces);
}

/** One character of a pattern, as a regular expression. */
function sourceOf(piece: string): string {
  if (piece === '?') return '.';
  if (piece.length > 1) {
    const set = piece.slice(1, -1).replace(/^!/, '^');
    return `[${set.replace(/[\\[\]]/g, '\\$&')}]`;
  }
  return piece.replace(/[.+^${}()|\\[\]]/g, '\\$&');
}
