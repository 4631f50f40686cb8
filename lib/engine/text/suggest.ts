/**
 * The number of single-character edits (insert, delete, replace, swap of neighbours) between two
 * words.
 */
function editDistance(a: string, b: string): number {
  // A row depends on the two rows before it.
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const differ = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + differ);
      row[j] = swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least;
    }
    before = above;
    above = row;
  }
  return above[b.length] ?? 0;
}

/**
 * The most likely known word: a third of its letters may differ. Undefined without a similar word.
 */
export function suggest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > 100) return undefined;
  const ranked = [...known]
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(
      ({ candidate, distance }) =>
        distance <= Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3)),
    )
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** The hint for an unknown word: `did you mean x?`, or the known words. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const words = [...known];
  const meant = suggest(word, words);
  if (meant !== undefined) return `did you mean ${meant}?`;
  return words.length > 0 ? `known: ${words.join(', ')}` : undefined;
}
