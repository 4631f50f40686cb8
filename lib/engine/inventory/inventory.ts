import type { Problem } from '../problem/problem.ts';
import type { Secret } from '../secret/secret.ts';
import type { Path } from './located.ts';
import type { SourcedVariable } from './sourced-variables.ts';

/** How to reach a host. The operator's ssh_config (`ssh -G`) has the missing settings. */
export interface ConnectionSettings {
  readonly type: 'ssh' | 'local';
  readonly address: string;
  readonly port: number | undefined;
  readonly user: string | undefined;
  /**
   * A host key pinned in the inventory, as in known_hosts: `ssh-ed25519 AAAA…`. Several are
   * allowed.
   */
  readonly hostKeys: readonly string[];
  readonly identityFile: string | undefined;
  /** Used instead of the operator's own known_hosts. */
  readonly knownHostsFile: string | undefined;
  /**
   * Jump hosts in order, as `user@host:port`; the word `none` for none, also none of ssh_config.
   */
  readonly jump: readonly string[];
  /** The client that connects, where it is not chosen by itself. */
  readonly client: 'openssh' | undefined;
  readonly becomePassword: Secret | undefined;
}

/**
 * One host of an inventory. `vars` has the variables of all hosts, overridden by those of its
 * groups and then by its own.
 */
export interface InventoryHost<V> {
  readonly name: string;
  /** The groups that decide what the host gets. */
  readonly groups: readonly string[];
  /** Groups that the operator has made, for patterns and variables. Default: none. */
  readonly ownGroups?: readonly string[];
  readonly connection: ConnectionSettings;
  readonly vars: V;
}

/** The content of one inventory, checked and with its secrets read. */
export interface Inventory<V> {
  /** `lab` for inventory/lab.yaml. */
  readonly name: string;
  readonly file: string;
  /** In the order of the file. */
  readonly hosts: readonly InventoryHost<V>[];
  /** What commands printed about hosts, by group. Default: no command printed anything. */
  readonly said?: Readonly<Record<string, string>>;
  /** What is not wrong, and what an operator should know. Default: nothing. */
  readonly warnings?: readonly Problem[];
}

/** An inventory that knows where the variables of its hosts come from. */
export interface SourcedInventory<V> extends Inventory<V> {
  /** The variables of a host at a path and below it, each with its sources. */
  sourcesOf(host: string, path: Path): readonly SourcedVariable[];
}
