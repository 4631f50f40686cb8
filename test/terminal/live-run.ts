import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Progress } from '../../lib/engine/host/host.ts';
import type { HostSummary, Outcome, RunEvent } from '../../lib/engine/run/events.ts';
import { Terminal } from './tmux.ts';

const none = { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };

/** A scripted run, shown in a real terminal below the prompt of a shell. */
export class LiveRun {
  readonly terminal: Terminal;
  readonly hosts: readonly string[];
  readonly #socket: Socket;
  readonly #answers: AsyncIterator<string>;

  private constructor(terminal: Terminal, hosts: readonly string[], socket: Socket) {
    this.terminal = terminal;
    this.hosts = hosts;
    this.#socket = socket;
    this.#answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  }

  static async begin(columns: number, rows: number, hosts: readonly string[], ...words: readonly string[]) {
    const directory = mkdtempSync(join(tmpdir(), 'live-'));
    const path = join(directory, 'events');
    const server = createServer();
    server.listen(path);
    await once(server, 'listening');
    const terminal = new Terminal(columns, rows, 'bash', '--norc', '--noprofile');
    const command = [
      'clear;',
      'node',
      '--import',
      'tsx',
      'test/terminal/show-events.ts',
      path,
      ...words,
    ].join(' ');
    terminal.press(command, 'Enter');
    const [socket] = (await once(server, 'connection')) as [Socket];
    server.close();
    rmSync(directory, { recursive: true });
    return new LiveRun(terminal, hosts, socket);
  }

  /** Returns after the display has received the events. */
  async send(...events: readonly RunEvent[]): Promise<void> {
    for (const event of events) {
      this.#socket.write(`${JSON.stringify(event)}\n`);
      await this.#answers.next();
    }
  }

  /** Makes the process end in the given way. */
  end(
    how:
      | { readonly type: 'throw'; readonly error: string }
      | { readonly type: 'exit'; readonly code: number }
      | { readonly type: 'kill' },
  ) {
    this.#socket.write(`${JSON.stringify(how)}\n`);
  }

  /**
   * Events up to the start of the first play.
   *
   * @param tasks of each host
   */
  async start(tasks: number): Promise<void> {
    const { hosts } = this;
    await this.send(
      { type: 'run-started', playbook: 'deploy', inventory: 'test', check: false, hosts },
      ...hosts.map((host): RunEvent => ({ type: 'host-looked', host, tasks })),
      { type: 'play-started', play: 'servers', hosts },
    );
  }

  close(): void {
    this.#socket.destroy();
    this.terminal.close();
  }
}

const stepOf = (host: string, resource: string) => ({ host, play: 'servers', role: 'docker', resource });

export const started = (host: string, resource: string): RunEvent => ({
  type: 'resource-started',
  task: stepOf(host, resource),
});

export const progress = (host: string, resource: string, said: Progress): RunEvent => ({
  type: 'progress',
  task: stepOf(host, resource),
  progress: said,
});

export const done = (
  host: string,
  resource: string,
  outcome: Outcome = 'changed',
  error?: string,
): RunEvent => ({
  type: 'resource-done',
  task: stepOf(host, resource),
  outcome,
  differences: [],
  note: undefined,
  error,
  seconds: 0,
  commands: [],
});

export const finished = (hosts: readonly string[], failed: readonly string[] = []): RunEvent => ({
  type: 'run-finished',
  interrupted: false,
  seconds: 12,
  hosts: hosts.map(
    (host): HostSummary => ({
      host,
      counts: failed.includes(host) ? { ...none, failed: 1 } : { ...none, changed: 3 },
      seconds: 5,
      unreachable: false,
      stopped: failed.includes(host) ? 'task failed' : undefined,
      roundTrips: 3,
    }),
  ),
});
