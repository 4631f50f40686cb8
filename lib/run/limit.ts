/**
 * Runs a function on each item, at most `forks` at a time.
 *
 * @returns the results in the order of the items
 */
export async function mapWithForks<T, R>(
  items: readonly T[],
  forks: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(forks, items.length) }, worker));
  return results;
}
