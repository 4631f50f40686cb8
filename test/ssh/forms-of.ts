/**
 * A word as an argument can hold it: as it is, and inside of a longer text in base64, where it
 * begins at one of three places of a group.
 *
 * @param word at least 8 bytes, so that each form is long enough to be found by itself
 */
export function formsOf(word: string): readonly string[] {
  const encoded = [0, 1, 2].map((before) => {
    const text = Buffer.from('x'.repeat(before) + word).toString('base64');
    // Groups that have bytes of what is around the word.
    return text.slice(before === 0 ? 0 : 4, (before + Buffer.byteLength(word)) % 3 === 0 ? undefined : -4);
  });
  return [word, ...encoded];
}
