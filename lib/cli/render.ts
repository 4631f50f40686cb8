import { parseArgs } from 'node:util';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { selectHosts } from '../inventory/pattern.ts';
import { didYouMean } from '../inventory/suggest.ts';
import { type ExitCode, exitCode, Problem, Problems } from '../problem.ts';
import { describeError } from './describe-error.ts';
import { firstSentence, refuseTwice } from './options.ts';

/** What the command is run with. */
export interface RenderSurroundings<V> {
  /** @throws Problem, Problems */
  load(nameOrFile: string): Promise<Inventory<V>>;
  /** Writes the files of some hosts and says which. @throws Problem, Problems */
  render(
    chosen: readonly InventoryHost<V>[],
    hosts: readonly InventoryHost<V>[],
    out: string,
  ): Promise<readonly string[]>;
  /** The inventory used where none is named. */
  readonly embedded: string;
  say(line: string): void;
  complain(line: string): void;
}

const known = {
  inventory: { type: 'string', short: 'i' },
  out: { type: 'string', short: 'o' },
  host: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

export const renderHelp = `npx zx playbooks/render.mjs renders every file of every host, with no connection to any host.

Options
  -i, --inventory NAME|FILE  inventory/NAME.yaml, or a file; without it the embedded lab
  -o, --out DIR              where to: DIR/HOST/FILENAME, mode 0600, secrets as given
      --host PATTERN         these hosts only: names, groups, globs, a,b  !not  &both  name[1:3]
  -h, --help                 this text

Example
  npx zx playbooks/render.mjs --inventory mainnet --out out --host rpc-1

Exit codes
  0 rendered   3 bad input
`;

/** Runs the command. @param args what follows the script's name */
export async function renderCommand<V>(args: readonly string[], around: RenderSurroundings<V>): Promise<ExitCode> {
  try {
    const options = read(args);
    if (options.help) {
      around.say(renderHelp.trimEnd());
      return exitCode.converged;
    }
    if (!options.out) throw new Problem('--out is missing', { hint: 'name the folder to write to: --out DIR' });
    if (options.inventory === undefined) around.complain(`no --inventory given: using the embedded ${around.embedded}`);
    const inventory = await around.load(options.inventory ?? around.embedded);
    const chosen = options.host === undefined ? inventory.hosts : selectHosts(inventory, options.host);
    for (const path of await around.render(chosen, inventory.hosts, options.out)) around.say(path);
    return exitCode.converged;
  } catch (error) {
    around.complain(describeError(error));
    if (error instanceof Problem) return error.code;
    return error instanceof Problems ? exitCode.badInput : exitCode.failed;
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
