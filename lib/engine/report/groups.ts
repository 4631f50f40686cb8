/** The items in groups of the same key, each in the order of its first item. */
export function groupsOf<T>(items: Iterable<T>, keyOf: (item: T) => unknown): (readonly [T, ...T[]])[] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const key = JSON.stringify(keyOf(item));
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups.values()];
}
