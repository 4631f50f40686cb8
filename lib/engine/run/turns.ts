import type { Reader } from '../host/host.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import type { Resource } from '../resource/resource.ts';
import type { Session } from './open-session.ts';

/**
 * What surrounds the changes of a host that has clients: before them it leaves service, after them it comes back. Both happen on other
 * hosts, such as gateways. A function with the parameter `at` is for one of those.
 */
export interface Turns<V> {
  /** The group of the other hosts. There are no turns where the inventory does not have it. */
  readonly at: string;
  /** What becomes of a host whose changes failed in its turn, for the operator. */
  readonly staysOut: string;
  /** Whether a host has clients by the other hosts. */
  covers(host: InventoryHost<V>): boolean;
  /** Whether a change with this effect, in the words of `Resource.changes`, is noticed by clients. */
  disturbs(effect: string): boolean;
  /** Which hosts get clients from here now, and which of those that get none are in a turn that a run has not finished. */
  look(
    reader: Reader,
    at: InventoryHost<V>,
  ): Promise<{ readonly serving: readonly string[]; readonly left: readonly string[] }>;
  /** It gets no new clients, and those that it has are gone. */
  leave(host: InventoryHost<V>, at: InventoryHost<V>): Resource;
  /** It is well, and gets clients again. */
  back(host: InventoryHost<V>, at: InventoryHost<V>): Resource;
  /** Its turn is over as it is, without a look at its health. */
  undo(host: InventoryHost<V>, at: InventoryHost<V>): Resource;
}

/**
 * Puts a host back to what it was before its turn, after a change in it has failed. After a success the host comes back into service.
 *
 * @returns whether it is as before, and a sentence for the operator about it
 */
export type PutBack = (host: string, session: Session) => Promise<{ readonly done: boolean; readonly says: string }>;
