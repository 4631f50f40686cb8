import { type CommandOutput, standardOutput } from '../../engine/command-line/command.ts';
import { type Given, shared, wholeNumber } from '../../engine/command-line/command-line.ts';
import { connected } from '../../engine/command-line/connected.ts';
import { openSession } from '../../engine/host/open-session.ts';
import type { Session } from '../../engine/host/session.ts';
import type { SourcedInventory } from '../../engine/inventory/inventory.ts';
import { describeErrorOn, inLines } from '../../engine/output/describe-error.ts';
import { wrappedFor } from '../../engine/output/wrapped.ts';
import { type ExitCode, exitCode } from '../../engine/problem/problem.ts';
import { mapWithForks } from '../../engine/run/limit.ts';
import { redact } from '../../engine/secret/secret.ts';
import { printable } from '../../engine/text/printable.ts';
import { givenHosts } from './given-hosts.ts';

/** The options of every command that asks each host. */
export const eachHostOptions = {
  inventory: shared.inventory,
  limit: shared.limit,
  forks: shared.forks,
  timeout: { value: 'SECONDS', help: 'seconds to wait for a login (default: 15)' },
  identity: shared.identity,
  'ask-become-pass': shared['ask-become-pass'],
  help: shared.help,
} as const;

/** The dependencies of a command that asks each host. */
export interface Around extends CommandOutput {
  readonly open: typeof openSession;
}

/** The same for the hosts of an inventory and the output of this process. */
export const onHosts = (): Around => ({ ...standardOutput(), open: openSession });

/** A host of a command, with its connection, or the error of an unreachable one. */
export type Reached =
  | { readonly name: string; readonly session: Session; readonly seconds: number }
  | { readonly name: string; readonly error: unknown };

/** The hosts that a command is about, connected. */
export interface ReachedHosts {
  readonly inventory: string;
  readonly sourcesOf: SourcedInventory<unknown>['sourcesOf'];
  /** In the order of the inventory. */
  readonly hosts: readonly Reached[];
  readonly forks: number;
  readonly interrupt: AbortSignal;
}

/**
 * Connects to the hosts of a command line, lets the command work, and closes the connections.
 *
 * @returns the exit code of the work; 4 where a host was not reached and the work ended with 0;
 * 130 after Ctrl-C
 */
export async function withHosts(
  given: Given<typeof eachHostOptions>,
  { open }: Around,
  work: (reached: ReachedHosts) => Promise<ExitCode>,
): Promise<ExitCode> {
  const forks = wholeNumber('--forks', given.forks, 9999) ?? 25;
  const timeout = wholeNumber('--timeout', given.timeout, 3600);
  const { inventory, chosen } = await givenHosts(given, true);
  return connected(
    given['ask-become-pass'],
    async ({ becomePassword, ask, signal: interrupt, closesAtEnd }) => {
      const hosts = await mapWithForks(chosen, forks, async (host): Promise<Reached> => {
        const { name } = host;
        const start = performance.now();
        try {
          const session = closesAtEnd(await open(host, { becomePassword, ask, interrupt, timeout }));
          return { name, session, seconds: (performance.now() - start) / 1000 };
        } catch (error) {
          return { name, error };
        }
      });
      if (interrupt.aborted) return exitCode.interrupted;
      const { name, sourcesOf } = inventory;
      const code = await work({ inventory: name, sourcesOf, hosts, forks, interrupt });
      if (interrupt.aborted) return exitCode.interrupted;
      return code === exitCode.converged && hosts.some((host) => 'error' in host)
        ? exitCode.unreachable
        : code;
    },
  );
}

/** The hosts that were reached. */
export function sessionsOf(hosts: readonly Reached[]) {
  return hosts.flatMap((host) => ('session' in host ? [host] : []));
}

/** A line about a host: its name in a column, then text without control characters and secrets. */
export function hostLine(hosts: readonly Reached[], name: string, text: string): string {
  const width = Math.max(...hosts.map((host) => host.name.length));
  return redact(printable(`${name.padEnd(width)}  ${text}`));
}

/** The lines of a host that was not reached. */
export function unreachableLines(
  hosts: readonly Reached[],
  { name, error }: Extract<Reached, { error: unknown }>,
): string[] {
  const [reason, ...more] = inLines(describeErrorOn(name, error));
  return [`unreachable: ${reason}`, ...more].map((line) =>
    wrappedFor(hostLine(hosts, name, line), process.stdout),
  );
}
