import type { WriteStream } from 'node:tty';

/** The part of a terminal that live lines use. */
export type Terminal = Pick<WriteStream, 'write'>;

const codes = {
  begin: '\u001b[?2026h',
  end: '\u001b[?2026l',
  wrapOff: '\u001b[?7l',
  wrapOn: '\u001b[?7h',
  // From the second column: tmux treats a clear from the first cell as a clear of the whole
  // screen, and copies it into its history.
  clearBelow: '\u001b[K\u001b[C\u001b[J\r',
};

/**
 * Lines at the bottom of a terminal that are redrawn in place, below the text that scrolls.
 *
 * Between two drawings the cursor is on an empty line above them. A resize re-wraps or cuts only
 * what is below the cursor, so that everything below is cleared without counting lines. The cursor
 * moves up only right after drawing, over lines that are not wrapped yet. It is never hidden: a
 * run that is killed leaves a usable prompt.
 */
export function liveArea(terminal: Terminal) {
  let drawn: readonly string[] = [];
  /**
   * @param above lines that scroll away
   * @param live lines that stay: none wider than the terminal, together less high
   */
  const draw = (above: readonly string[], live: readonly string[]): void => {
    if (above.length === 0 && live.length === 0 && drawn.length === 0) return;
    const scrolled = above.map((line) => `${line}\n`).join('');
    const stays =
      live.length > 0 ? `\n${codes.wrapOff}${live.join('\n')}${codes.wrapOn}\u001b[${live.length}A\r` : '';
    // One write, marked as one update, so that no half-drawn state is visible.
    terminal.write(`${codes.begin}\r${codes.clearBelow}${scrolled}${stays}${codes.end}`);
    drawn = live;
  };
  return {
    draw,
    /** Draws only when the lines differ from the last ones. */
    refresh(live: readonly string[]): void {
      if (live.length !== drawn.length || live.some((line, at) => line !== drawn[at])) draw([], live);
    },
    /** Removes the live lines. The next output is in their place. */
    clear: () => draw([], []),
  };
}
