import pLimit from 'p-limit';

/**
 * Runs a function on each item, at most `forks` at a time.
 *
 * @returns the results in the order of the items
 * @throws the first error, after the running calls have ended, so that the caller can close what
 * they opened. No call starts after it
 */
export async function mapWithForks<T, R>(items: readonly T[], forks: number, work: (item: T) => Promise<R>) {
  const failures: unknown[] = [];
  const call = async (item: T): Promise<R[]> => {
    try {
      return failures.length > 0 ? [] : [await work(item)];
    } catch (error) {
      failures.push(error);
      return [];
    }
  };
  const results = await pLimit(forks).map(items, call);
  if (failures.length > 0) throw failures[0];
  return results.flat(1);
}
