import { seconds } from '../../engine/output/units.ts';
import { meaningOfExitCode } from '../../engine/resource/docker/exit-code.ts';
import type { ServiceState } from './read.ts';

/**
 * `up 2 h 05 min`, `exited with 1, 3 min ago`, `restarting after exit with 1, 3 s ago`.
 *
 * @param at seconds since 1970, by the host's clock
 */
export function serviceWords({ status, exitCode, since }: ServiceState, at: number): string {
  const duration = since === undefined ? undefined : seconds(Math.max(0, at - since));
  if (status === 'running') return duration === undefined ? 'running' : `up ${duration}`;
  const ago = duration === undefined ? '' : `, ${duration} ago`;
  return `${status}${exitWords(status, exitCode)}${ago}`;
}

/**
 * ` with 137 (killed, most often because memory ran out)`; empty for a container that has not
 * ended.
 */
function exitWords(status: string, exitCode: number): string {
  if (status !== 'exited' && status !== 'restarting') return '';
  const code = exitCodeWords(exitCode);
  return status === 'exited' ? ` with ${code}` : ` after exit with ${code}`;
}

/** `137 (killed, most often because memory ran out)`; the number alone for a code of the program's own. */
export function exitCodeWords(exitCode: number): string {
  const meaning = meaningOfExitCode(exitCode);
  return `${exitCode}${meaning === undefined ? '' : ` (${meaning})`}`;
}

/**
 * `300 µs behind`, `2.1 s ahead of`.
 *
 * @param value seconds
 */
export function offset(value: number): string {
  return `${amountOf(Math.abs(value))} ${value < 0 ? 'behind' : 'ahead of'}`;
}

/**
 * `300 µs`, `12 ms`, `2.1 s`.
 *
 * @param size seconds
 */
function amountOf(size: number): string {
  if (size < 0.001) return `${Math.round(size * 1e6)} µs`;
  return size < 1 ? `${Math.round(size * 1e3)} ms` : seconds(size);
}

/** With separators: `4,252`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Where the host's chain differs from the trusted sequencer's. */
export function divergedWords({
  height,
  here,
  there,
}: {
  height: number;
  here: string;
  there: string;
}): string {
  const hashes = `block ${count(height)} is ${short(here)} here and ${short(there)} there`;
  return `diverged from the trusted sequencer: ${hashes}`;
}

/** As many digits as distinguish two hashes. */
function short(hash: string): string {
  return hash.length > 14 ? `${hash.slice(0, 10)}…` : hash;
}
