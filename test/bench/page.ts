import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The page of the results of each case. */
export const resultsPage = fileURLToPath(new URL('../../docs/benchmark-results.md', import.meta.url));

/** The page of what a gateway costs. */
export const gatewayPage = fileURLToPath(new URL('../../docs/gateway-cost.md', import.meta.url));

/** The page of what backups and recoveries cost. */
export const backupPage = fileURLToPath(new URL('../../docs/backup-cost.md', import.meta.url));

/** The page with the comparison and all other measurements. */
const benchmarks = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));

/**
 * Puts a text between a page's two marks of that name, and keeps the rest.
 *
 * @throws Error if the page has no such marks
 */
export function putSection(name: string, text: string, page = benchmarks): void {
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->\n`];
  const whole = readFileSync(page, 'utf8');
  const [from, to] = [whole.indexOf(begin), whole.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${page} has no place for the table: ${begin}${end}`);
  writeFileSync(page, `${whole.slice(0, from)}${begin}${text}\n${whole.slice(to)}`);
}

/** Describes the machine. */
export const machine = `Linux ${release()}, ${cpus().length} processors (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB`;

/** The median, and the range from minimum to maximum. */
export function spread(values: readonly number[], text: (value: number) => string): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return values.length === 1 ? text(least) : `${text(median(values))} (${text(least)}–${text(most)})`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = 0, high = low] =
    sorted.length % 2 === 1 ? [sorted[middle]] : sorted.slice(middle - 1, middle + 1);
  return (low + high) / 2;
}
