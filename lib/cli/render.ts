import { parseArgs } from 'node:util';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import type { LoadOptions } from '../inventory/load.ts';
import { selectHosts } from '../inventory/pattern.ts';
import { didYouMean, suggest } from '../inventory/suggest.ts';
import { type ExitCode, exitCode, Problem, Problems } from '../problem.ts';
import type { Paint } from './colour.ts';
import { describeError } from './describe-error.ts';
import { firstSentence, refuseTwice } from './options.ts';
import { type HostFile, renderingDiff } from './render-diff.ts';

/** What the command is run with. */
export interface RenderSurroundings<V> {
  /** @throws Problem, Problems */
  load(nameOrFile: string, options?: Pick<LoadOptions, 'over'>): Promise<Inventory<V>>;
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
  readonly paint: Paint;
}

const known = {
  inventory: { type: 'string', short: 'i' },
  out: { type: 'string', short: 'o' },
  diff: { type: 'string', short: 'd' },
  limit: { type: 'string', short: 'l' },
  help: { type: 'boolean', short: 'h' },
} as const;

export const renderHelp = `npx zx playbooks/render.mjs renders every file of every host, with no connection to any host.

Options
  -i, --inventory NAME|FILE  inventory/NAME.yaml, or a file; without it the embedded lab
  -o, --out DIR              write them: DIR/HOST/FILENAME, mode 0600, secrets as given
  -d, --diff OTHER           show what differs: OTHER is a generation (current, older) for the same hosts, or another
                             inventory. Secrets are not shown
  -l, --limit PATTERN        these hosts only: names, groups, globs, a,b  !not  &both  name[1:3]
  -h, --help                 this text

Examples
  npx zx playbooks/render.mjs --inventory mainnet --out out --limit rpc-1
  npx zx playbooks/render.mjs --inventory mainnet --diff older
  npx zx playbooks/render.mjs --inventory testnet --diff mainnet

Exit codes
  0 rendered, or nothing differs   2 something differs (--diff)   3 bad input
`;

/** Runs the command. @param args what follows the script's name */
export async function renderCommand<V>(args: readonly string[], around: RenderSurroundings<V>): Promise<ExitCode> {
  try {
    const options = read(args);
    if (options.help) {
      around.say(renderHelp.trimEnd());
      return exitCode.converged;
    }
    if (options.out !== undefined && options.diff !== undefined) {
      throw new Problem('--out and --diff do not go together', { hint: 'one writes files, the other compares them' });
    }
    if (!options.out && !options.diff) {
      throw new Problem('neither --out nor --diff is given', {
        hint: 'write files: --out DIR; compare them: --diff OTHER',
      });
    }
    if (options.inventory === undefined) around.complain(`no --inventory given: using the embedded ${around.embedded}`);
    const inventory = await around.load(options.inventory ?? around.embedded);
    const chosen = options.limit === undefined ? inventory.hosts : selectHosts(inventory, options.limit);
    if (options.out) {
      for (const path of await around.render(chosen, inventory.hosts, options.out)) around.say(path);
      return exitCode.converged;
    }
    return await compare(inventory, chosen, options.diff ?? '', options.limit !== undefined, around);
  } catch (error) {
    around.complain(describeError(error));
    if (error instanceof Problem) return error.code;
    return error instanceof Problems ? exitCode.badInput : exitCode.failed;
  }
}

/** @param limited whether hosts were chosen: then those that only the other inventory has are left out */
async function compare<V>(
  inventory: Inventory<V>,
  chosen: readonly InventoryHost<V>[],
  other: string,
  limited: boolean,
  around: RenderSurroundings<V>,
): Promise<ExitCode> {
  const isGeneration = around.generations.includes(other);
  const against = isGeneration
    ? await around.load(inventory.file, { over: { values: { generation: other }, from: `--diff ${other}` } })
    : await loadOther(other, around);
  const named = [inventory.name, isGeneration ? `${inventory.name}, ${other} generation` : against.name] as const;
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
    lines.push(...renderingDiff(name, was, wanted, named, around.paint));
  }
  if (lines.length === 0) {
    around.say(`no difference between ${named.join(' and ')}`);
    return exitCode.converged;
  }
  around.say(around.paint('red', `--- ${named[0]}`));
  around.say(around.paint('green', `+++ ${named[1]}`));
  for (const line of lines) around.say(line);
  return exitCode.pending;
}

/** The name may have been meant for a generation. */
async function loadOther<V>(other: string, around: RenderSurroundings<V>): Promise<Inventory<V>> {
  try {
    return await around.load(other);
  } catch (error) {
    const meant = suggest(other, around.generations);
    if (!(error instanceof Problem) || meant === undefined) throw error;
    throw new Problem(error.message, { hint: `did you mean the generation ${meant}? ${error.hint ?? ''}`.trim() });
  }
}

function read(args: readonly string[]) {
  try {
    const parsed = parseArgs({ args: [...args], options: known, strict: true, allowPositionals: false, tokens: true });
    refuseTwice(parsed.tokens);
    return parsed.values;
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { code } = error as Error & { code?: string };
    const option = args.find((arg) => arg.startsWith('--') && !((arg.slice(2).split('=')[0] ?? '') in known));
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && option !== undefined) {
      const name = option.split('=')[0] ?? option;
      throw new Problem(`unknown option ${name}`, {
        hint: didYouMean(
          name,
          Object.keys(known).map((key) => `--${key}`),
        ),
      });
    }
    throw new Problem(firstSentence(error), { hint: 'see --help' });
  }
}
