import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import type { Paint } from '../../engine/output/colour.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { type ExitCode, exitCode, exitCodeOfError, Problem, Problems } from '../../engine/problem/problem.ts';
import { redact } from '../../engine/secret/secret.ts';
import type { Unlock } from '../../engine/secret/unlock.ts';
import { printable } from '../../engine/text/printable.ts';
import { suggest } from '../../engine/text/suggest.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { givenInventory } from '../../node/inventory/project.ts';
import { filesOf, renderFiles } from '../../node/render/render-files.ts';
import { generations } from '../../node/variables/generation.ts';
import { renderingDiff } from './diff.ts';
import { parseRenderOptions, renderHelp } from './options.ts';

/** The dependencies of the command. */
export interface RenderDependencies {
  say(line: string): void;
  complain(line: string): void;
  /** @param color false with --no-color */
  paint(color: boolean): Paint;
}

type Deployment = Awaited<ReturnType<typeof loadDeployment>>;

/** Runs the command. @param args the words after the script's name */
export async function renderCommand(args: readonly string[], around: RenderDependencies): Promise<ExitCode> {
  const say = (line: string) => around.say(redact(line));
  try {
    const given = parseRenderOptions(args);
    if (given.help) {
      around.say(renderHelp.trimEnd());
      return exitCode.converged;
    }
    // One for all inventories: a key with a passphrase is asked for once.
    const unlock = unlockOnTerminal(given.identity);
    const inventory = await loadDeployment(givenInventory(given.inventory), { unlock });
    const chosen = given.limit === undefined ? inventory.hosts : selectHosts(inventory, given.limit);
    if (given.out) {
      for (const path of await renderFiles(chosen, inventory.hosts, given.out)) say(printable(path));
      return exitCode.converged;
    }
    const { against, titles } = await otherSide(given.diff ?? '', inventory, unlock);
    const names = chosen.map(({ name }) => name);
    // With --limit, hosts of the other inventory alone are left out.
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
    for (const line of [paint('red', `--- ${titles[0]}`), paint('green', `+++ ${titles[1]}`), ...lines]) say(line);
    return exitCode.pending;
  } catch (error) {
    around.complain(describeError(error));
    return exitCodeOfError(error);
  }
}

/** The inventory of `--diff`, and the names of both in the output: the inventory's name, or its file if the names are equal. */
async function otherSide(
  other: string,
  inventory: Deployment,
  unlock: Unlock,
): Promise<{ readonly against: Deployment; readonly titles: readonly [string, string] }> {
  if (Object.hasOwn(generations, other)) {
    const title = printable(inventory.name);
    return { against: await loadAs(other, inventory, unlock), titles: [title, `${title}, ${other} generation`] };
  }
  const against = await loadOther(other, unlock);
  const by = inventory.name === against.name ? 'file' : 'name';
  return { against, titles: [printable(inventory[by]), printable(against[by])] };
}

async function filesIn({ hosts }: Deployment, name: string) {
  const host = hosts.find((each) => each.name === name);
  return host && filesOf(host, hosts);
}

/** The same inventory in another generation. Hints about values of its own generation would be wrong, and are left out. */
async function loadAs(generation: string, { file }: Deployment, unlock: Unlock): Promise<Deployment> {
  try {
    return await loadDeployment(file, { unlock, over: [{ values: { generation }, from: `--diff ${generation}` }] });
  } catch (error) {
    const problems = error instanceof Problems ? error.problems : error instanceof Problem ? [error] : undefined;
    if (!problems) throw error;
    const hint = `to compare all the same, make an inventory for the ${generation} generation and say --diff NAME`;
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
    throw new Problem(error.message, { hint: `did you mean the generation ${meant}? ${error.hint ?? ''}`.trim() });
  }
}
