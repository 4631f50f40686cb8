/**
 * Runs a function on each item, at most `forks` at a time.
 *
 * @returns the results in the order of the items
 * @throws the first error, after the running calls have ended, so that the caller can close what they opened. No call starts after it
 */
export async function mapWithForks<T, R>(
  items: readonly T[],
  forks: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const failures: unknown[] = [];
  const worker = async () => {
    for (const [at, item] of queue) {
      if (failures.length > 0) return;
      try {
        results[at] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(forks, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
