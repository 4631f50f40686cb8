import type { WriteStream } from 'node:tty';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[0J';
const top = '\u001b[H';
/** Marks one update, so that a terminal draws it at once. */
const [begin, end] = ['\u001b[?2026h', '\u001b[?2026l'];

/**
 * Opens the terminal's alternate screen, which is redrawn in place; closing it restores the
 * earlier content.
 */
export function openScreen(terminal: Pick<WriteStream, 'write'>) {
  let open = true;
  terminal.write(enter);
  const close = () => {
    if (open) terminal.write(leave);
    open = false;
    process.off('exit', close);
  };
  // A second Ctrl-C ends the process at once.
  process.on('exit', close);
  return {
    /** One write without clearing the screen first, so that nothing flickers. */
    draw(lines: readonly string[]): void {
      terminal.write(
        `${begin}${top}${lines.map((line) => `${line}${clearLine}`).join('\n')}${clearBelow}${end}`,
      );
    },
    close,
  };
}
