import type { Reader } from '../host/host.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import type { Resource } from '../resource/resource.ts';

/** A number of hosts, or a share of all hosts of a play in the run: `'25%'`. */
export type HostCount = number | `${number}%`;

/**
 * How many hosts change at a time: always the same number, or a ramp, whose last number is
 * repeated.
 */
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

/**
 * @throws TypeError for a count that is neither a number of hosts nor a share
 */
export function refuseMiscounts(play: string, counts: readonly HostCount[]): void {
  const wrong = counts.find((count) => !/^(\d+|\d+(\.\d+)?%)$/.test(String(count)));
  if (wrong !== undefined)
    throw new TypeError(`play "${play}": ${wrong} is neither a number of hosts nor a share such as 25%`);
}

/**
 * What surrounds the changes of a host that has clients: before them it leaves service, after them
 * it comes back. Both happen on other hosts, such as gateways. A function with the parameter `at`
 * is for one of those.
 */
export interface Turns<V> {
  /** The group of the other hosts. There are no turns where the inventory does not have it. */
  readonly at: string;
  /**
   * Whether a host makes changes that its clients notice alone, one host after the other, in an
   * inventory without the group `at`. Default: all of them make theirs together.
   */
  aloneWithout?(host: InventoryHost<V>): boolean;
  /** What becomes of a host whose changes failed in its turn, for the operator. */
  readonly staysOut: string;
  /** The group of those that have clients by the other hosts. */
  readonly of: string;
  /**
   * Whether a change with this effect, in the words of `Resource.changes`, is noticed by clients.
   */
  disturbs(effect: string): boolean;
  /**
   * Which hosts get clients from here now, and which of those that get none are in a turn that a
   * run has not finished.
   */
  look(
    reader: Reader,
    at: InventoryHost<V>,
  ): Promise<{ readonly serving: readonly string[]; readonly left: readonly string[] }>;
  /** It gets no new clients, and those that it has are gone. */
  leave(host: string, at: InventoryHost<V>): Resource;
  /** It is well, and gets clients again. */
  back(host: string, at: InventoryHost<V>): Resource;
  /** Its turn is over as it is, without a look at its health. */
  undo(host: string, at: InventoryHost<V>): Resource;
}
