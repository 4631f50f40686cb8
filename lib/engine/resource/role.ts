import type { Facts } from '../host/facts/facts.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import type { ImagePin } from './docker/docker-image.ts';
import type { Resource } from './resource.ts';

/**
 * The files and images of an earlier state of a host, in place of those that follow from its
 * variables.
 */
export interface ReleaseContent {
  /** By the name of the file. */
  readonly texts: ReadonlyMap<string, string>;
  /** By the name of the container. */
  readonly pins: ReadonlyMap<string, ImagePin | undefined>;
}

/**
 * The input of a role: the host, its variables and facts, every host of the inventory, and what
 * else the run includes.
 */
export interface Context<V> {
  readonly host: InventoryHost<V>;
  readonly vars: V;
  readonly facts: Facts;
  readonly hosts: readonly InventoryHost<V>[];
  /**
   * Whether a host and a role are part of the run: --limit, --role and --skip-role may leave them
   * out.
   */
  includes(host: string, role: string): boolean;
  /** The names of all roles that the host has in this run. */
  readonly roles?: ReadonlySet<string>;
  /** The playbook's own options; a switch is an empty text. */
  readonly given: Readonly<Record<string, string>>;
  /** What is put back on the host, in a rollback. */
  readonly release?: ReleaseContent;
}

/** The wanted state of a host, as an ordered list of resources. */
export interface Role<V> {
  readonly name: string;
  resources(context: Context<V>): readonly Resource[] | Promise<readonly Resource[]>;
}

/**
 * @throws Problem from `resources` where the variables do not fit together
 */
export function role<V>(name: string, resources: Role<V>['resources']): Role<V> {
  return { name, resources };
}
