import { Problem } from '../problem/problem.ts';
import { counted } from '../text/counted.ts';
import { fitsInOrder } from '../text/glob.ts';
import { didYouMean } from '../text/suggest.ts';

/** A host as a pattern sees it. */
export interface NamedHost {
  readonly name: string;
  readonly groups: readonly string[];
  readonly ownGroups?: readonly string[];
}

/**
 * The hosts of a pattern, in the order of the inventory.
 *
 * A pattern is a list, separated by commas, of host names, group names, `all`, and globs (`*`,
 * `?`, `[ab]`) over both. A term that starts with `&` keeps only its hosts, and one that starts
 * with `!` removes its hosts; both apply after all other terms, and alone they start from all
 * hosts. `name[1]`, `name[1:3]`, `name[1:]` and `name[-1]` select hosts by position, from 0, both
 * ends included.
 *
 * @throws Problem for a term without a host, with the nearest name
 */
export function selectHosts<H extends NamedHost>(
  { hosts }: { readonly hosts: readonly H[] },
  pattern: string,
): readonly H[] {
  const terms = pattern.split(',').flatMap((term) => term.trim() || []);
  if (terms.length === 0)
    throw new Problem('the host pattern is empty', { hint: 'name a host, a group, or all' });
  const named = terms.filter((term) => !/^[!&]/.test(term)).map((term) => hostsOfTerm(hosts, term));
  const signed = (sign: string) =>
    terms.filter((term) => term.startsWith(sign)).map((term) => hostsOfTerm(hosts, term.slice(1)));
  const [kept, removed] = [signed('&'), signed('!')];
  const selected = hosts.filter(
    (host) =>
      (named.length === 0 || named.some((some) => some.has(host))) &&
      kept.every((some) => some.has(host)) &&
      !removed.some((some) => some.has(host)),
  );
  if (selected.length === 0) throw new Problem(`no host is left by the pattern "${pattern}"`);
  return selected;
}

const globs = 'name hosts and groups, or use globs: rpc-1,rpc-2 or rpc-*';

function hostsOfTerm<H extends NamedHost>(hosts: readonly H[], term: string): ReadonlySet<H> {
  const subscript = /^(.+)\[(-?\d+)(?:(:)(-?\d+)?)?\]$/.exec(term);
  // `rpc-[12]` is a glob if no host or group is called `rpc-`.
  const position = subscript && matched(hosts, subscript[1] ?? '').length > 0 ? subscript : undefined;
  const name = position?.[1] ?? term;
  const found = matched(hosts, name);
  if (found.length === 0) {
    if (name.startsWith('~'))
      throw new Problem(`"${name}": regular expressions are not supported`, { hint: globs });
    if (name.startsWith('@'))
      throw new Problem(`"${name}": a list of hosts in a file is not supported`, { hint: globs });
    const known = new Set([...hosts.flatMap((host) => [host.name, ...groupsOf(host)]), 'all']);
    const commas = `terms are separated by commas: ${name.replaceAll(':', ',')}`;
    const hint = name.includes(':') ? commas : didYouMean(name, known);
    throw new Problem(`no host or group is called "${name}"`, { hint });
  }
  if (!position) return new Set(found);
  const [, , first = '0', colon, last = colon ? '-1' : first] = position;
  const [from, to] = [first, last].map((text) =>
    Number(text) < 0 ? found.length + Number(text) : Number(text),
  );
  const selected = found.filter((_, i) => i >= Number(from) && i <= Number(to));
  if (selected.length > 0) return new Set(selected);
  const size = counted(found.length, 'host');
  throw new Problem(`"${term}" selects nothing: ${name} has ${size}, counted from 0`);
}

function matched<H extends NamedHost>(hosts: readonly H[], name: string): readonly H[] {
  const fits = globOf(name);
  return hosts.filter((host) => name === 'all' || fits(host.name) || groupsOf(host).some(fits));
}

/** All groups of a host. */
export function groupsOf({ groups, ownGroups = [] }: Omit<NamedHost, 'name'>): readonly string[] {
  return [...groups, ...ownGroups];
}

/** `*` is any text, `?` one character, `[ab]` one of these characters. */
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
