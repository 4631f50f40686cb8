import { seconds } from '../output/units.ts';

/**
 * `16:42:35`, in UTC as in the logs of servers.
 *
 * @param at milliseconds since 1970
 */
export function clockOf(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

/**
 * `16:42:35 to 16:43:05 (30 s)`, or one time for work that took none.
 *
 * @param at its end, milliseconds since 1970
 */
export function spanOf(at: number, took: number): string {
  if (took === 0) return `${clockOf(at)}`;
  return `${clockOf(at - took * 1000)} to ${clockOf(at)} (${seconds(took)})`;
}
