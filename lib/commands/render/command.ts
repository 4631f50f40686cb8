import { type CommandOutput, command, standardOutput } from '../../engine/command-line/command.ts';
import { type Given, shared } from '../../engine/command-line/command-line.ts';
import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import type { Inventory } from '../../engine/inventory/inventory.ts';
import { type Paint, paintFor } from '../../engine/output/colour.ts';
import { exitCode, Problem, Problems } from '../../engine/problem/problem.ts';
import { redact } from '../../engine/secret/secret.ts';
import type { Unlock } from '../../engine/secret/unlock.ts';
import { printable } from '../../engine/text/printable.ts';
import { suggest } from '../../engine/text/suggest.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { filesOf, refuseOutput, renderFiles } from '../../node/render/render-files.ts';
import { generations } from '../../node/variables/generation.ts';
import type { Variables } from '../../node/variables/variables.ts';
import { givenHosts } from '../each-host/given-hosts.ts';
import { renderingDiff } from './diff.ts';
import { explanation } from './explanation.ts';

/** The dependencies of the command. */
interface RenderDependencies extends CommandOutput {
  /**
   * @param color false with --no-color
   */
  paint(color: boolean): Paint;
}

type Deployment = Inventory<Variables>;

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
  explain: {
    value: 'KEY',
    help: 'show where a variable, or each one below it, comes from: ports, ports.rpc_http. Secrets and keys in\naddresses are not shown',
  },
  limit: shared.limit,
  identity: shared.identity,
  'no-color': shared['no-color'],
  help: shared.help,
} as const;

export const run = command({
  command: 'npx zx playbooks/render.mjs',
  purpose:
    'renders the deployment files of every host (Compose file and configuration), without a connection.',
  options: renderOptions,
  examples: [
    '--inventory mainnet --out out --limit rpc-1',
    '--inventory mainnet --diff older',
    '--inventory testnet --diff mainnet',
    '--inventory mainnet --explain ports',
  ],
  exits: { 0: 'rendered, explained, or nothing differs', 2: 'something differs (--diff)', 3: 'bad input' },
  around: (): RenderDependencies => ({
    ...standardOutput(),
    paint: (color) => paintFor(process.stdout, color),
  }),
  async work({ given }, around) {
    const { out, diff, explain } = given;
    refuseUnclear(given);
    if (out) refuseOutput(out);
    const say = (line: string) => around.say(redact(line));
    // Both inventories share it, so a passphrase is asked for once.
    const unlock = unlockOnTerminal(given.identity);
    const { inventory, chosen } = await givenHosts(given, false, unlock);
    if (out) {
      for (const path of await renderFiles(chosen, inventory.hosts, out)) say(printable(path));
      return exitCode.converged;
    }
    if (explain) {
      for (const line of explanation(inventory, chosen, explain)) say(printable(line));
      return exitCode.converged;
    }
    const { against, titles } = await otherSide(diff ?? '', inventory, unlock);
    const names = chosen.map(({ name }) => name);
    // With --limit, hosts that only the other inventory has are left out.
    if (given.limit === undefined) names.push(...against.hosts.map(({ name }) => name));
    const paint = around.paint(!given['no-color']);
    const lines: string[] = [];
    for (const name of new Set(names)) {
      const [was, wanted] = await Promise.all([filesIn(inventory, name), filesIn(against, name)]);
      lines.push(...renderingDiff(name, was, wanted, titles, paint));
    }
    if (lines.length === 0) {
      say(`no difference between ${titles.join(' and ')}`);
      return exitCode.converged;
    }
    for (const line of [paint('red', `--- ${titles[0]}`), paint('green', `+++ ${titles[1]}`), ...lines])
      say(line);
    return exitCode.pending;
  },
});

/**
 * @throws Problem where the command line does not say one thing to do
 */
function refuseUnclear({ out, diff, explain }: Given<typeof renderOptions>): void {
  const given = Object.entries({ out, diff, explain }).flatMap(([name, value]) => (value ? `--${name}` : []));
  const hint = 'write files: --out DIR; compare them: --diff OTHER; look up a variable: --explain KEY';
  if (given.length === 0) throw new Problem('none of --out, --diff and --explain is given', { hint });
  if (given.length > 1) throw new Problem(`${given.join(' and ')} do not go together`, { hint });
}

/**
 * The inventory of `--diff`, and the names of both in the output: the inventory's name, or its
 * file if the names are equal.
 */
async function otherSide(other: string, inventory: Deployment, unlock: Unlock) {
  if (Object.hasOwn(generations, other)) {
    const title = printable(inventory.name);
    return {
      against: await loadAs(other, inventory, unlock),
      titles: [title, `${title}, ${other} generation`] as const,
    };
  }
  const against = await loadOther(other, unlock);
  const by = inventory.name === against.name ? 'file' : 'name';
  return { against, titles: [printable(inventory[by]), printable(against[by])] as const };
}

async function filesIn({ hosts }: Deployment, name: string) {
  const host = hosts.find((each) => each.name === name);
  return host && filesOf(host, hosts);
}

/**
 * The same inventory in another generation. Hints about values of its own generation would be
 * wrong, and are left out.
 */
async function loadAs(generation: string, { file }: Deployment, unlock: Unlock): Promise<Deployment> {
  try {
    return await loadDeployment(file, {
      unlock,
      over: [{ values: { generation }, from: `--diff ${generation}` }],
    });
  } catch (error) {
    if (!(error instanceof Problems || error instanceof Problem)) throw error;
    const problems = error instanceof Problems ? error.problems : [error];
    const hint = `to compare anyway, write an inventory for the ${generation} generation: --diff NAME`;
    throw new Problems(
      problems.map(({ message, where }, i) => {
        const isLast = i === problems.length - 1;
        const what = `as generation ${generation} (--diff): ${message}`;
        return new Problem(what, { where, hint: isLast ? hint : undefined });
      }),
    );
  }
}

/** Another inventory. Its name may be a misspelt generation. */
async function loadOther(other: string, unlock: Unlock): Promise<Deployment> {
  try {
    return await loadDeployment(other, { unlock });
  } catch (error) {
    const meant = suggest(other, Object.keys(generations));
    if (!(error instanceof Problem) || meant === undefined) throw error;
    const hint = `did you mean the generation ${meant}? ${error.hint ?? ''}`.trim();
    throw new Problem(error.message, { where: error.where, hint });
  }
}
