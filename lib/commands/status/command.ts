import { setTimeout as sleep } from 'node:timers/promises';
import type { WriteStream } from 'node:tty';
import pLimit, { type LimitFunction } from 'p-limit';
import { interruption } from '../../engine/command-line/interrupt.ts';
import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadOptions } from '../../engine/inventory/load.ts';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import { paintFor } from '../../engine/output/colour.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { askPassword } from '../../engine/output/terminal.ts';
import { type ExitCode, exitCode, exitCodeOfError } from '../../engine/problem/problem.ts';
import { Secret } from '../../engine/secret/secret.ts';
import type { Health, HostStatus, WatchedHost, WatchOptions } from '../../node/status/host.ts';
import { statusJson, worstOf } from './json.ts';
import { lastRuns } from './last-run.ts';
import { type Shown, statusLines } from './lines.ts';
import { parseStatusOptions, type StatusOptions, statusHelp } from './options.ts';
import { openScreen } from './screen.ts';

/** What the command is run with. */
export interface StatusDependencies<V> {
  /** @throws Problem, Problems */
  load(nameOrFile: string, options: Pick<LoadOptions, 'unlock' | 'connects'>): Promise<Inventory<V>>;
  /** A host to look at. @throws Problem, Problems */
  watch(host: InventoryHost<V>, hosts: readonly InventoryHost<V>[], options: WatchOptions): Promise<WatchedHost>;
  /** The inventory used where none is named. */
  readonly embedded: string;
  /** Folder of run records. */
  readonly runs: string;
  readonly output: Pick<WriteStream, 'write' | 'isTTY' | 'columns' | 'rows'>;
  complain(line: string): void;
}

const codes: Readonly<Record<Health, ExitCode>> = {
  healthy: exitCode.converged,
  unhealthy: exitCode.failed,
  unreachable: exitCode.unreachable,
};

/** Runs the command. @param args what follows the script's name */
export async function statusCommand<V>(args: readonly string[], around: StatusDependencies<V>): Promise<ExitCode> {
  try {
    const options = parseStatusOptions(args);
    if (options.help) {
      around.output.write(statusHelp);
      return exitCode.converged;
    }
    if (options.inventory === undefined) around.complain(`no --inventory given: using the embedded ${around.embedded}`);
    const inventory = await around.load(options.inventory ?? around.embedded, {
      unlock: unlockOnTerminal(options.identity),
      connects: true,
    });
    const chosen = options.limit === undefined ? inventory.hosts : selectHosts(inventory, options.limit);
    const becomePassword = options.askBecomePass ? new Secret(await askPassword('sudo password: ')) : undefined;
    return await show(options, inventory, chosen, becomePassword, around);
  } catch (error) {
    around.complain(describeError(error));
    return exitCodeOfError(error);
  }
}

async function show<V>(
  options: StatusOptions,
  inventory: Inventory<V>,
  chosen: readonly InventoryHost<V>[],
  becomePassword: Secret | undefined,
  around: StatusDependencies<V>,
): Promise<ExitCode> {
  const { signal: interrupt, release } = interruption();
  const limits = { staleAfter: options.staleAfter, mostBehind: options.mostBehind };
  const watchOptions = { limits, timeout: options.timeout, becomePassword, interrupt };
  const hosts: WatchedHost[] = [];
  try {
    for (const host of chosen) hosts.push(await around.watch(host, inventory.hosts, watchOptions));
    const latest = new Latest(inventory.name, hosts, options, around);
    if (options.watch) {
      await watch(latest, options, interrupt, around);
      return exitCode.interrupted;
    }
    await latest.lookOnce();
    if (interrupt.aborted) return exitCode.interrupted;
    around.output.write(await latest.text());
    return codes[worstOf(latest.seen())];
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
    release();
  }
}

/** What was seen last of each host. */
class Latest<V> {
  readonly #inventory: string;
  readonly #hosts: readonly WatchedHost[];
  readonly #options: StatusOptions;
  readonly #around: StatusDependencies<V>;
  readonly #seen = new Map<string, HostStatus>();
  readonly #inTurn: LimitFunction;

  constructor(inventory: string, hosts: readonly WatchedHost[], options: StatusOptions, around: StatusDependencies<V>) {
    this.#inventory = inventory;
    this.#hosts = hosts;
    this.#options = options;
    this.#around = around;
    this.#inTurn = pLimit(options.forks);
  }

  async lookOnce(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => this.#look(host)));
  }

  /** Each host at its own pace, so that none waits for a slow one. */
  async lookUntil(interrupt: AbortSignal): Promise<void> {
    await Promise.all(
      this.#hosts.map(async (host) => {
        while (!interrupt.aborted) {
          await this.#look(host);
          await pause(this.#options.every, interrupt);
        }
      }),
    );
  }

  async #look(host: WatchedHost): Promise<void> {
    const status = await this.#inTurn(() => host.look());
    if (status) this.#seen.set(host.name, status);
  }

  /** In the order of the inventory; what was not seen yet is left out. */
  seen(): HostStatus[] {
    return this.#hosts.flatMap(({ name }) => this.#seen.get(name) ?? []);
  }

  isComplete(): boolean {
    return this.#seen.size === this.#hosts.length;
  }

  /** As it is printed to a pipe or a terminal, once. */
  async text(): Promise<string> {
    if (this.#options.json) return `${statusJson(this.#inventory, await this.#shown(), Date.now())}\n`;
    return `${(await this.lines()).join('\n')}\n`;
  }

  /** @param room the lines of a terminal that it has to fit in, and their width */
  async lines(room?: { readonly width: number; readonly height: number }): Promise<string[]> {
    const paint = paintFor(this.#around.output, this.#options.color);
    const [width, height] = [room?.width, room?.height];
    const lines = statusLines(await this.#shown(), { paint, width, height, now: Date.now() });
    const waiting = this.#hosts.length - this.#seen.size;
    return waiting > 0 ? [...lines, `${waiting} not seen yet`] : lines;
  }

  async #shown(): Promise<Shown[]> {
    const runs = await lastRuns(this.#around.runs, this.#inventory);
    return this.seen().map((status) => ({ ...status, lastRun: runs.get(status.host) }));
  }
}

/** Shows again and again how hosts are, until Ctrl-C. */
async function watch<V>(
  latest: Latest<V>,
  options: StatusOptions,
  interrupt: AbortSignal,
  { output }: StatusDependencies<V>,
): Promise<void> {
  if (output.isTTY && !options.json) return watchOnScreen(latest, options, interrupt, output);
  while (!interrupt.aborted) {
    await latest.lookOnce();
    // A look that was cut short would tell of some hosts how they were a look before.
    if (interrupt.aborted) return;
    output.write(options.json ? await latest.text() : `${titleOf(options)}\n\n${await latest.text()}\n`);
    await pause(options.every, interrupt);
  }
}

/** Shows again and again what was seen last: a slow host holds up none. */
async function watchOnScreen<V>(
  latest: Latest<V>,
  options: StatusOptions,
  interrupt: AbortSignal,
  output: StatusDependencies<V>['output'],
): Promise<void> {
  const looking = latest.lookUntil(interrupt);
  const screen = openScreen(output);
  try {
    // People are told how many are missing, and see the others soon.
    for (let waited = 0; waited < options.every && !latest.isComplete() && !interrupt.aborted; waited += 0.1) {
      await pause(0.1, interrupt);
    }
    while (!interrupt.aborted) {
      const room = { width: output.columns ?? 80, height: (output.rows ?? 24) - 2 };
      screen.draw([titleOf(options), '', ...(await latest.lines(room))]);
      await pause(options.every, interrupt);
    }
  } finally {
    screen.close();
  }
  // What was seen last stays on the terminal.
  if (latest.seen().length > 0) output.write(await latest.text());
  await looking;
}

function titleOf({ every }: StatusOptions): string {
  return `${new Date().toISOString().slice(0, 19)}Z, every ${every} s; Ctrl-C ends`;
}

/** Ends early on Ctrl-C. */
async function pause(seconds: number, interrupt: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal: interrupt }).catch(() => {});
}
