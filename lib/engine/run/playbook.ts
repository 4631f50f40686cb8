import type { NamedHost } from '../inventory/pattern.ts';
import type { Role } from '../resource/role.ts';
import { refuseUnknownSettings } from '../resource/settings.ts';
import { type HostCount, refuseMiscounts, type Serial, type Turns } from './rolling.ts';

/**
 * Binds hosts to roles. `hosts` is a host pattern. `needs` names earlier plays that must succeed.
 * `anyErrorsFatal` ends the run on all hosts when one fails. An unreachable host does not count
 * there: a switch goes on without it. The hosts of an `optional` play are groups, separated by
 * commas: it has those that the inventory has, and is left out without any.
 *
 * `serial`: how many of the hosts with something to change do so at a time; a failure in the first
 * of several batches ends the run. `maxFail`: more failed and unreachable hosts of the play end the
 * run; default: any number may fail. With `turns`, both hold only for hosts whose clients notice
 * the changes, while some host has clients. In an inventory without the group at which turns are
 * taken, both hold for the hosts that `aloneWithout` names. A host that takes turns does a role
 * that its play before has, too, in its turn only.
 */
export interface Play<V> {
  readonly name: string;
  readonly hosts: string;
  readonly roles: readonly Role<V>[];
  readonly needs: readonly string[];
  readonly anyErrorsFatal: boolean;
  readonly optional: boolean;
  readonly serial?: Serial;
  readonly maxFail?: HostCount;
  readonly turns?: Turns<V>;
}

type PlayOptions<V> = Pick<Play<V>, 'hosts' | 'roles'> & Partial<Play<V>>;

/** An option that one playbook has beside those of all. Without `value` it is a switch. */
export interface OwnOption {
  readonly value?: string;
  readonly help: string;
  readonly required?: true;
  /** The values that it takes: these, or the names of hosts in `group`. */
  readonly completes?: readonly string[] | 'host';
  readonly group?: string;
  /** What its value looks like, and the same in words: `must be a folder`. */
  readonly form?: { readonly pattern: RegExp; readonly words: string };
  /** Another option of the playbook, without which it has no use. */
  readonly goesWith?: string;
  /** One beside which it has no use. */
  readonly notBeside?: string;
}

/** The playbook's own options as given; a switch is an empty text. */
export type OwnValues = Readonly<Record<string, string>>;

/** An ordered list of plays. */
export interface Playbook<V> {
  readonly name: string;
  /** One sentence for `--help`. */
  readonly purpose: string;
  /** `{name}` in the hosts of a play is the value of its own option of this name. */
  readonly plays: readonly Play<V>[];
  readonly options: Readonly<Record<string, OwnOption>>;
  /** The hosts of a run without --limit, as a host pattern. Default: all. */
  readonly limit?: (given: OwnValues, hosts: readonly NamedHost[]) => string;
  /**
   * A group: a confirmation is the name of its host, typed, where that host changes. Default: y.
   */
  readonly typed?: string;
  /** A group that the inventory has to have, and what to do without it. */
  readonly needsGroup?: { readonly name: string; readonly hint: string };
}

const playOptions = {
  name: true,
  hosts: true,
  roles: true,
  needs: true,
  anyErrorsFatal: true,
  optional: true,
  serial: true,
  maxFail: true,
  turns: true,
} as const;

/** A team's own playbook is not checked by a compiler: `serail: 1` would change all hosts at once. */
function refuseMistakes<V>(name: string, options: PlayOptions<V>): void {
  refuseUnknownSettings(`play "${name}"`, options, playOptions, 'option');
  if (typeof options.hosts !== 'string')
    throw new TypeError(`play "${name}" needs hosts, a host pattern such as 'rpc'`);
  if (!Array.isArray(options.roles))
    throw new TypeError(`play "${name}" needs roles, a list: await roles('one', 'other') gives it`);
  if ([options.serial].flat().includes(0))
    throw new TypeError(`play "${name}": serial 0 is no number of hosts; without serial all change at once`);
}

/**
 * @param options `needs`: names of earlier plays that must succeed on all their hosts
 * @throws TypeError for an unknown or a missing option, and for a wrong `serial` or `maxFail`
 */
export function play<V>(name: string, options: PlayOptions<V>): Play<V> {
  refuseMistakes(name, options);
  refuseMiscounts(name, [options.serial ?? 1, options.maxFail ?? 0].flat());
  return { name, needs: [], anyErrorsFatal: false, optional: false, ...options };
}

/**
 * @throws TypeError when a play needs one that is not earlier
 */
export function playbook<V>(
  name: string,
  purpose: string,
  plays: readonly Play<V>[],
  more: Partial<Pick<Playbook<V>, 'options' | 'limit' | 'typed' | 'needsGroup'>> = {},
): Playbook<V> {
  for (const [at, { name: playName, needs }] of plays.entries()) {
    const earlier = plays.slice(0, at).map((p) => p.name);
    for (const need of needs) {
      if (!earlier.includes(need))
        throw new TypeError(`play "${playName}" needs "${need}", which does not come before it`);
    }
  }
  return { name, purpose, plays, options: {}, ...more };
}
