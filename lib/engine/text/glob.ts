/**
 * Whether a text matches a glob. Each piece between two `*` matches at the first possible place,
 * which is as good as any later one: the time is bounded for any number of `*`.
 *
 * @param pieces the glob, split at each `*`, every piece as a regular expression of fixed width
 * without `^` and `$`
 */
export function fitsInOrder(text: string, pieces: readonly string[]): boolean {
  const [first = '', ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return new RegExp(`^(?:${first})$`, 's').test(text);
  const start = new RegExp(`^(?:${first})`, 's').exec(text);
  const end = new RegExp(`(?:${last})$`, 's').exec(text);
  if (!start || !end) return false;
  let at = start[0].length;
  for (const piece of rest) {
    const pattern = new RegExp(piece, 'gs');
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return false;
    at = found.index + found[0].length;
  }
  return at <= end.index;
}
