/** How many single-character edits (insert, delete, replace, swap of neighbours) lie between two words. */
export function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const differ = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const cell = (r: number, c: number): number => (r === i ? row[c] : rows[r]?.[c]) ?? Number.POSITIVE_INFINITY;
      row[j] = Math.min(
        cell(i - 1, j) + 1,
        cell(i, j - 1) + 1,
        cell(i - 1, j - 1) + differ,
        swapped ? cell(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}

/** The known word that was most likely meant, or undefined where none is near: a third of the letters may differ. */
export function suggest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > 100) return undefined;
  const ranked = [...known]
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(
      ({ candidate, distance }) => distance <= Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3)),
    )
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** What to do about an unknown word: `did you mean x?`, or else what is known. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const words = [...known];
  const meant = suggest(word, words);
  if (meant !== undefined) return `did you mean ${meant}?`;
  return words.length > 0 ? `known: ${words.join(', ')}` : undefined;
}
