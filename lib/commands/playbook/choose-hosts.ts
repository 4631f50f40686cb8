import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import type { InventoryHost, SourcedInventory } from '../../engine/inventory/inventory.ts';
import type { LoadOptions } from '../../engine/inventory/load.ts';
import { outlineInventory, type VariablesOver } from '../../engine/inventory/outline.ts';
import { type NamedHost, selectHosts } from '../../engine/inventory/pattern.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { didYouMean } from '../../engine/text/suggest.ts';
import { givenInventory, projectInventories } from '../../node/inventory/project.ts';
import type { Options, SetVariable } from './options.ts';

/** How to load inventories. */
export interface InventorySource<V> {
  load(nameOrFile: string, how: LoadOptions, options: Options): Promise<SourcedInventory<V>>;
  /** The name of the embedded inventory. */
  readonly embedded: string;
  /** An inventory with these and further hosts, brought up in the same way. */
  readonly larger?: string;
  /** Brings up the hosts of the embedded inventory, or of the larger one, before it is loaded. */
  prepareEmbedded(say: (line: string) => void, larger?: boolean): Promise<void>;
  /** What commands printed about hosts, from a saved plan. Default: they are asked. */
  readonly said?: LoadOptions['said'];
  /**
   * Refuses hosts of the inventory that the playbook's own options cannot name.
   *
   * @throws Problem
   */
  refuse?(inventory: NamedHosts<NamedHost>): void;
  /** The hosts of a run without --limit, as a host pattern. Default: all. */
  limit?(hosts: readonly NamedHost[]): string | undefined;
}

/**
 * The inventory of a run and its hosts. An unknown host is refused before the embedded hosts are
 * brought up, where the inventory can be read without them.
 *
 * @param planned the hosts of a saved plan, instead of --limit
 * @throws Problem for a host that the inventory does not have
 */
export async function chooseHosts<V>(
  options: Options,
  planned: readonly string[] | undefined,
  source: InventorySource<V>,
  say: (line: string) => void,
): Promise<{ readonly inventory: SourcedInventory<V>; readonly hosts: readonly InventoryHost<V>[] }> {
  const name = givenInventory(options.inventory);
  const over = options.set.map(variableOver);
  const unlock = unlockOnTerminal(options.identity);
  const choose = <H extends NamedHost>(inventory: NamedHosts<H>) => {
    source.refuse?.(inventory);
    const limit = options.limit ?? (planned ? undefined : source.limit?.(inventory.hosts));
    return chosenOf(inventory, { ...options, limit }, planned);
  };
  const load = async () => {
    const inventory = await source.load(
      name,
      { over, unlock, connects: !options.listHosts, ...(source.said && { said: source.said }) },
      options,
    );
    return { inventory, hosts: choose(inventory) };
  };
  if (name !== source.embedded && name !== source.larger) return load();
  const before = await load().catch((error: unknown) => error);
  // Files that the embedded hosts make are missing before the first start. Then the error is a
  // list of Problems.
  if (before instanceof Problem) throw before;
  if (before instanceof Error) choose(await outlineInventory(name, projectInventories));
  if (options.listHosts && !(before instanceof Error)) return before as Awaited<ReturnType<typeof load>>;
  await source.prepareEmbedded(say, name === source.larger);
  return load();
}

/** Hosts by name and group, as far as an inventory is known before its values are. */
interface NamedHosts<H> {
  readonly name: string;
  readonly hosts: readonly H[];
}

/**
 * The hosts of a run.
 *
 * @throws Problem for a host that the inventory does not have
 */
function chosenOf<H extends NamedHost>(
  inventory: NamedHosts<H>,
  { limit, assumedStopped }: Options,
  planned: readonly string[] | undefined,
): readonly H[] {
  refuseUnknownHosts(assumedStopped, inventory);
  if (planned) return planned.map((host) => namedHost(inventory, host));
  return limit === undefined ? inventory.hosts : selectHosts(inventory, limit);
}

function namedHost<H extends NamedHost>(inventory: NamedHosts<H>, name: string): H {
  const host = inventory.hosts.find((each) => each.name === name);
  if (host) return host;
  throw new Problem(`the plan has a host ${name}, which ${inventory.name} does not have`, {
    hint: 'make a new plan: --check --out FILE',
  });
}

/**
 * The option takes names only: a group or a pattern could include a host that nobody thought of.
 */
function refuseUnknownHosts(names: readonly string[], { name, hosts }: NamedHosts<NamedHost>): void {
  const known = hosts.map((host) => host.name);
  const unknown = names.find((each) => !known.includes(each));
  if (unknown === undefined) return;
  throw new Problem(`--assume-stopped: ${name} has no host "${unknown}"`, {
    hint: didYouMean(unknown, known),
  });
}

function variableOver({ path, value }: SetVariable): VariablesOver {
  const values = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  // Without the value, which may be a password in the wrong place.
  return { values: values as Readonly<Record<string, unknown>>, from: `--set ${path.join('.')}` };
}
