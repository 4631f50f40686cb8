import { seconds } from '../../engine/output/units.ts';
import type { ServiceState } from './read.ts';

/** `up 2 h 05 min`, `exited with 1, 3 min ago`, `restarting after exit with 1, 3 s ago`. @param at seconds since 1970, by the host's clock */
export function serviceWords({ status, exitCode, since }: ServiceState, at: number): string {
  const duration = since === undefined ? undefined : seconds(Math.max(0, at - since));
  if (status === 'running') return duration === undefined ? 'running' : `up ${duration}`;
  const code =
    status === 'exited' ? ` with ${exitCode}` : status === 'restarting' ? ` after exit with ${exitCode}` : '';
  return `${status}${code}${duration === undefined ? '' : `, ${duration} ago`}`;
}

/** `300 µs behind`, `2.1 s ahead of`. @param value seconds */
export function offset(value: number): string {
  const size = Math.abs(value);
  const amount =
    size < 0.001 ? `${Math.round(size * 1e6)} µs` : size < 1 ? `${Math.round(size * 1e3)} ms` : seconds(size);
  return `${amount} ${value < 0 ? 'behind' : 'ahead of'}`;
}

/** With separators: `4,252`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}
