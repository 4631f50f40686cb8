import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { installPackages, isInstalled } from '../../lab/engine.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
let servers = 0;

/** Installs missing programs, each from the package of its name. Needs root. */
export async function install(...programs: readonly string[]): Promise<void> {
  const missing: string[] = [];
  for (const program of programs) if (!(await isInstalled(program))) missing.push(program);
  if (missing.length > 0) await installPackages(...missing);
}

/** A real terminal: one window of tmux, with its own tmux server. */
export class Terminal {
  readonly #server = `rpc-playbooks-${process.pid}-${servers++}`;

  /**
   * @param words the program that runs in it, in the root of the project
   */
  constructor(columns: number, rows: number, ...words: readonly string[]) {
    const size = ['-x', String(columns), '-y', String(rows)];
    const environment = ['-e', 'NO_COLOR=1', '-e', 'PS1=shell> ', '-e', 'LC_ALL=C.UTF-8'];
    this.#tmux('new-session', '-d', ...size, ...environment, '-c', root, ...words);
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync('tmux', ['-u', '-L', this.#server, '-f', '/dev/null', ...words], {
      encoding: 'utf8',
    });
  }

  /** Names of keys, or text, as for `tmux send-keys`. */
  press(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  resize(columns: number, rows: number): void {
    this.drag([[columns, rows]]);
  }

  /** Takes on sizes one after the other, at once, however busy the machine is. Columns and rows. */
  drag(sizes: readonly (readonly [number, number])[]): void {
    const commands = sizes.map(([columns, rows]) => ['resize-window', '-x', `${columns}`, '-y', `${rows}`]);
    this.#tmux(...commands.flatMap((words) => [...words, ';']));
  }

  /** The rows of the screen, each without blanks at its end; no empty rows at the end. */
  screen(): string[] {
    return rowsOf(this.#tmux('capture-pane', '-p'));
  }

  /**
   * All output: scrolled rows and the screen. Rows that the terminal itself wrapped are joined.
   */
  everything(): string[] {
    return rowsOf(this.#tmux('capture-pane', '-p', '-J', '-S', '-'));
  }

  /** Where the cursor is, from 0, and whether it is shown. */
  cursor(): { readonly column: number; readonly row: number; readonly shown: boolean } {
    const said = this.#tmux('display-message', '-p', '#{cursor_x} #{cursor_y} #{cursor_flag}');
    const [column = -1, row = -1, shown] = said.trim().split(' ').map(Number);
    return { column, row, shown: shown === 1 };
  }

  /** The screen, as soon as the condition is met. */
  async until(holds: (screen: string[]) => boolean, seconds = 15): Promise<string[]> {
    for (const end = performance.now() + seconds * 1000; ; await delay(30)) {
      const screen = this.screen();
      if (holds(screen)) return screen;
      if (performance.now() > end) throw new Error(`this is on the screen:\n${screen.join('\n')}`);
    }
  }

  close(): void {
    this.#tmux('kill-server');
  }
}

function rowsOf(text: string): string[] {
  return text
    .replace(/\s+$/, '')
    .split('\n')
    .map((row) => row.trimEnd());
}
