import { type HelpPage, helpText, parseCommandLine } from '../../engine/command-line/command-line.ts';
import { shared } from '../../engine/command-line/shared-options.ts';
import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadOptions } from '../../engine/inventory/load.ts';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import type { Paint } from '../../engine/output/colour.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { type ExitCode, exitCode, exitCodeOfError, Problem, Problems } from '../../engine/problem/problem.ts';
import { redact } from '../../engine/secret/secret.ts';
import { printable } from '../../engine/text/printable.ts';
import { suggest } from '../../engine/text/suggest.ts';
import { type HostFile, renderingDiff } from './diff.ts';

/** What the command is run with. */
export interface RenderDependencies<V> {
  /** @throws Problem, Problems */
  load(nameOrFile: string, options?: Pick<LoadOptions, 'over' | 'unlock'>): Promise<Inventory<V>>;
  /** Writes the files of some hosts and says which. @throws Problem, Problems */
  render(
    chosen: readonly InventoryHost<V>[],
    hosts: readonly InventoryHost<V>[],
    out: string,
  ): Promise<readonly string[]>;
  /** All files of one host. @throws Problem, Problems */
  filesOf(host: InventoryHost<V>, hosts: readonly InventoryHost<V>[]): Promise<readonly HostFile[]>;
  /** Values of the variable `generation`, which `--diff` may name. */
  readonly generations: readonly string[];
  /** The inventory used where none is named. */
  readonly embedded: string;
  say(line: string): void;
  complain(line: string): void;
  /** @param color false where the command line forbids it */
  paint(color: boolean): Paint;
}

export const renderOptions = {
  inventory: shared.inventory,
  out: {
    short: 'o',
    value: 'DIR',
    help: 'write them: DIR/HOST/FILENAME, mode 0600, secrets as given',
    completes: 'file',
  },
  diff: {
    short: 'd',
    value: 'OTHER',
    help: 'show what differs: OTHER is a generation (current, older) for the same hosts, or another\ninventory. Secrets are not shown',
    completes: 'inventory',
  },
  limit: shared.limit,
  identity: shared.identity,
  'no-color': shared['no-color'],
  help: shared.help,
} as const;

const page: HelpPage = {
  command: 'npx zx playbooks/render.mjs',
  purpose: 'renders every file that containers mount, of every host, with no connection to any.',
  options: renderOptions,
  examples: [
    '--inventory mainnet --out out --limit rpc-1',
    '--inventory mainnet --diff older',
    '--inventory testnet --diff mainnet',
  ],
  exits: { 0: 'rendered, or nothing differs', 2: 'something differs (--diff)', 3: 'bad input' },
};

/** Runs the command. @param args what follows the script's name */
export async function renderCommand<V>(args: readonly string[], bare: RenderDependencies<V>): Promise<ExitCode> {
  try {
    const { given } = parseCommandLine(args, renderOptions);
    // One for all inventories: a key with a passphrase is asked for once.
    const unlock = unlockOnTerminal(given.identity);
    const around: RenderDependencies<V> = {
      ...bare,
      load: (name, options) => bare.load(name, { unlock, ...options }),
      say: (line) => bare.say(redact(line)),
    };
    if (given.help) {
      around.say(helpText(page).trimEnd());
      return exitCode.converged;
    }
    if (given.out !== undefined && given.diff !== undefined) {
      throw new Problem('--out and --diff do not go together', { hint: 'one writes files, the other compares them' });
    }
    if (!given.out && !given.diff) {
      throw new Problem('neither --out nor --diff is given', {
        hint: 'write files: --out DIR; compare them: --diff OTHER',
      });
    }
    if (given.inventory === undefined) around.complain(`no --inventory given: using the embedded ${around.embedded}`);
    const inventory = await around.load(given.inventory ?? around.embedded);
    const chosen = given.limit === undefined ? inventory.hosts : selectHosts(inventory, given.limit);
    if (given.out) {
      for (const path of await around.render(chosen, inventory.hosts, given.out)) {
        around.say(printable(path));
      }
      return exitCode.converged;
    }
    return await compare(
      inventory,
      chosen,
      given.diff ?? '',
      given.limit !== undefined,
      around,
      around.paint(!given['no-color']),
    );
  } catch (error) {
    bare.complain(describeError(error));
    return exitCodeOfError(error);
  }
}

/** @param limited whether hosts were chosen: then those that only the other inventory has are left out */
async function compare<V>(
  inventory: Inventory<V>,
  chosen: readonly InventoryHost<V>[],
  other: string,
  limited: boolean,
  around: RenderDependencies<V>,
  paint: Paint,
): Promise<ExitCode> {
  const isGeneration = around.generations.includes(other);
  const against = isGeneration ? await loadAs(other, inventory.file, around) : await loadOther(other, around);
  const named = namesOf(inventory, against, isGeneration ? other : undefined);
  const hosts = [
    ...chosen.map(({ name }) => name),
    ...(limited
      ? []
      : against.hosts.map(({ name }) => name).filter((name) => !chosen.some((host) => host.name === name))),
  ];
  const files = async (side: Inventory<V>, name: string) => {
    const host = side.hosts.find((each) => each.name === name);
    return host && around.filesOf(host, side.hosts);
  };
  const lines: string[] = [];
  for (const name of hosts) {
    const [was, wanted] = await Promise.all([files(inventory, name), files(against, name)]);
    lines.push(...renderingDiff(name, was, wanted, named, paint));
  }
  if (lines.length === 0) {
    around.say(`no difference between ${named.join(' and ')}`);
    return exitCode.converged;
  }
  around.say(paint('red', `--- ${named[0]}`));
  around.say(paint('green', `+++ ${named[1]}`));
  for (const line of lines) around.say(line);
  return exitCode.pending;
}

/** What an operator calls the two sides by: their names, or their files where those are alike. */
function namesOf<V>(one: Inventory<V>, other: Inventory<V>, generation: string | undefined): readonly [string, string] {
  if (generation !== undefined) return [printable(one.name), printable(`${one.name}, ${generation} generation`)];
  const by = one.name === other.name ? 'file' : 'name';
  return [printable(one[by]), printable(other[by])];
}

/** The same inventory. What only its own generation has is no mistake in it, so what to do about it there is not said. */
async function loadAs<V>(generation: string, file: string, around: RenderDependencies<V>): Promise<Inventory<V>> {
  try {
    return await around.load(file, { over: [{ values: { generation }, from: `--diff ${generation}` }] });
  } catch (error) {
    const problems = error instanceof Problems ? error.problems : error instanceof Problem ? [error] : undefined;
    if (!problems) throw error;
    const hint = `to compare all the same, make an inventory for the ${generation} generation and say --diff NAME`;
    throw new Problems(
      problems.map(
        ({ message, where }, i) =>
          new Problem(`as generation ${generation} (--diff): ${message}`, {
            where,
            hint: i === problems.length - 1 ? hint : undefined,
          }),
      ),
    );
  }
}

/** The name may have been meant for a generation. */
async function loadOther<V>(other: string, around: RenderDependencies<V>): Promise<Inventory<V>> {
  try {
    return await around.load(other);
  } catch (error) {
    const meant = suggest(other, around.generations);
    if (!(error instanceof Problem) || meant === undefined) throw error;
    throw new Problem(error.message, { hint: `did you mean the generation ${meant}? ${error.hint ?? ''}`.trim() });
  }
}
