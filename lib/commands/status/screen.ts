import type { WriteStream } from 'node:tty';

const codes = {
  enter: '\u001b[?1049h\u001b[?25l',
  leave: '\u001b[?25h\u001b[?1049l',
  home: '\u001b[H',
  clearLine: '\u001b[K',
  clearBelow: '\u001b[0J',
  begin: '\u001b[?2026h',
  end: '\u001b[?2026l',
};

/** A picture that is drawn anew in place, beside what the terminal showed before, which comes back afterwards. */
export interface Screen {
  draw(lines: readonly string[]): void;
  close(): void;
}

export function openScreen(terminal: Pick<WriteStream, 'write'>): Screen {
  let open = true;
  terminal.write(codes.enter);
  const close = () => {
    if (open) terminal.write(codes.leave);
    open = false;
    process.off('exit', close);
  };
  // A second Ctrl-C ends the process at once.
  process.on('exit', close);
  return {
    // One write, marked as one update and with nothing cleared beforehand, so that nothing flickers.
    draw: (lines) =>
      void terminal.write(
        `${codes.begin}${codes.home}${lines.map((line) => `${line}${codes.clearLine}`).join('\n')}${codes.clearBelow}${codes.end}`,
      ),
    close,
  };
}
