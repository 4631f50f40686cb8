import type { WriteStream } from 'node:tty';

/** A terminal, as far as live lines need it. */
export type Terminal = Pick<WriteStream, 'write'>;

const codes = {
  begin: '\u001b[?2026h',
  end: '\u001b[?2026l',
  wrapOff: '\u001b[?7l',
  wrapOn: '\u001b[?7h',
  // From the second column: tmux takes clearing from the very first place for clearing all, and keeps a copy in its history.
  clearBelow: '\u001b[K\u001b[C\u001b[J\r',
};

/**
 * Lines at the bottom of a terminal that are drawn anew in place, below what scrolls.
 *
 * Between two drawings the cursor stands on an empty line above them. What becomes of them when the terminal is resized, re-wrapped
 * or cut, is then all below the cursor and is cleared without having to be counted, and the cursor never moves above what was
 * drawn: it moves up only right after drawing, over lines that cannot have been wrapped. It is never hidden, so that a run that is
 * killed leaves it where a prompt may stand.
 */
export class LiveArea {
  readonly #terminal: Terminal;
  #drawn: readonly string[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** @param above lines that scroll away  @param live lines that stay, each no wider than the terminal, together less high */
  draw(above: readonly string[], live: readonly string[]): void {
    if (above.length === 0 && live.length === 0 && this.#drawn.length === 0) return;
    const scrolled = above.map((line) => `${line}\n`).join('');
    const stays = live.length > 0 ? `\n${codes.wrapOff}${live.join('\n')}${codes.wrapOn}\u001b[${live.length}A\r` : '';
    // One write, marked as one update, so that nothing is seen half drawn.
    this.#terminal.write(`${codes.begin}\r${codes.clearBelow}${scrolled}${stays}${codes.end}`);
    this.#drawn = live;
  }

  /** Draws only what differs from what stands there. */
  refresh(live: readonly string[]): void {
    if (live.length === this.#drawn.length && live.every((line, at) => line === this.#drawn[at])) return;
    this.draw([], live);
  }

  /** Takes the live lines away. What is written next stands in their place. */
  clear(): void {
    this.draw([], []);
  }
}
