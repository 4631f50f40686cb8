import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { selectHosts } from '../inventory/pattern.ts';
import { type ExitCode, exitCode, Problem, Problems } from '../problem.ts';
import type { Playbook } from '../run/playbook.ts';
import { run } from '../run/run.ts';
import type { Session } from '../run/session.ts';
import { Secret } from '../secret/secret.ts';
import { paintFor } from './colour.ts';
import { describeError } from './describe-error.ts';
import { exitCodeOf } from './exit-code.ts';
import { helpText } from './help.ts';
import { interruption } from './interrupt.ts';
import type { Style } from './lines.ts';
import { liveOutput } from './live.ts';
import { type Options, parseOptions } from './options.ts';
import { plainOutput } from './plain.ts';
import { askPassword } from './prompt.ts';

/** What a playbook's command line is run with. */
export interface Surroundings<V> {
  /** Reads and checks an inventory. @throws Problem, Problems */
  load(nameOrFile: string): Promise<Inventory<V>>;
  /** Connects to a host. @param becomePassword asked of the operator, outranks the inventory's */
  open(host: InventoryHost<V>, becomePassword: Secret | undefined, interrupt: AbortSignal): Promise<Session>;
  /** The inventory used where none is named. */
  readonly embedded: string;
  /** Called before the embedded inventory is loaded: brings up what it speaks of. */
  prepareEmbedded(say: (line: string) => void): Promise<void>;
}

/**
 * Runs a playbook as its command line says, prints what happens, and sets the process's exit code.
 *
 * @param args what follows the script's name
 */
export async function main<V>(playbook: Playbook<V>, args: readonly string[], around: Surroundings<V>): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const verbose = args.includes('--verbose') || args.includes('-v');
  try {
    process.exitCode = await perform(playbook, args, around, say);
  } catch (error) {
    say(describeError(error, verbose));
    process.exitCode =
      error instanceof Problem ? error.code : error instanceof Problems ? exitCode.badInput : exitCode.failed;
  }
}

async function perform<V>(
  playbook: Playbook<V>,
  args: readonly string[],
  around: Surroundings<V>,
  say: (line: string) => void,
): Promise<ExitCode> {
  const roleNames = [...new Set(playbook.plays.flatMap((play) => play.roles.map((role) => role.name)))];
  const options = parseOptions(args, roleNames);
  if (options.help) {
    process.stdout.write(helpText(playbook, roleNames));
    return exitCode.converged;
  }
  if (options.inventory === undefined) say(`no --inventory given: using the embedded ${around.embedded}`);
  const name = options.inventory ?? around.embedded;
  if (name === around.embedded) await around.prepareEmbedded(say);

  const inventory = await around.load(name);
  const hosts = options.limit === undefined ? inventory.hosts : selectHosts(inventory, options.limit);
  const becomePassword = options.askBecomePass ? new Secret(await askPassword('sudo password: ')) : undefined;
  const { signal, release } = interruption();
  try {
    const result = await run(
      playbook,
      inventory,
      (host) => around.open(host, becomePassword, signal),
      {
        check: options.check,
        forks: options.forks,
        hosts: new Set(hosts.map((host) => host.name)),
        roles: options.roles.length > 0 ? new Set(options.roles) : undefined,
        interrupt: signal,
      },
      output(
        options,
        hosts.map((host) => host.name),
      ),
    );
    return exitCodeOf(result);
  } finally {
    release();
  }
}

function output(options: Options, hosts: readonly string[]) {
  const style: Style = {
    paint: paintFor(process.stdout),
    verbose: options.verbose,
    check: options.check,
    hostWidth: Math.max(4, ...hosts.map((host) => host.length)),
  };
  return process.stdout.isTTY
    ? liveOutput(process.stdout, style)
    : plainOutput((text) => void process.stdout.write(text), style);
}
