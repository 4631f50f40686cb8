/**
 * @typedef {{ below(limit: number): number, chance(share: number): boolean, of<T>(items: readonly
 * T[]): T }} Random
 */

/**
 * Pseudo-random numbers, the same for the same seed (mulberry32).
 *
 * @param {number} seed
 * @returns {Random}
 */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** @param {number} limit */
  const below = (limit) => Math.floor(next() * limit);
  return {
    below,
    chance: (share) => next() < share,
    of: (items) => /** @type {any} */ (items[below(items.length)]),
  };
}
