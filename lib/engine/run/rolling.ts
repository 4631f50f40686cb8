/** A number of hosts, or a share of all hosts of a play in the run: `'25%'`. */
export type HostCount = number | `${number}%`;

/** How many hosts change at a time: always the same number, or a ramp, whose last number is repeated. */
export type Serial = HostCount | readonly HostCount[];

/**
 * Hosts in the batches in which they change, in order.
 *
 * @param total the number of hosts that shares refer to
 */
export function batchesOf<T>(hosts: readonly T[], serial: Serial, total: number): T[][] {
  const sizes = typeof serial === 'object' ? serial : [serial];
  const batches: T[][] = [];
  for (let at = 0; at < hosts.length; ) {
    const size = Math.max(1, countOf(sizes[Math.min(batches.length, sizes.length - 1)] ?? 1, total));
    batches.push(hosts.slice(at, at + size));
    at += size;
  }
  return batches;
}

/** A count in hosts; a share is rounded down, as Ansible does. */
export function countOf(count: HostCount, total: number): number {
  return typeof count === 'number' ? count : Math.floor((Number.parseFloat(count) * total) / 100);
}

/** @throws TypeError for a count that is neither a whole number of at least `least` nor a share from 0% to 100% */
export function refuseMiscount(name: string, count: HostCount, least: number): void {
  const fits =
    typeof count === 'number'
      ? Number.isInteger(count) && count >= least
      : /^\d+(\.\d+)?%$/.test(count) && Number.parseFloat(count) <= 100;
  if (!fits)
    throw new TypeError(`${name} is ${count}: it has to be a number of hosts from ${least}, or a share such as 25%`);
}
