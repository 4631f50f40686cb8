import type { WriteStream } from 'node:tty';
import type { Listener } from '../run/events.ts';
import { redact } from '../secret/secret.ts';
import { BusyHosts } from './busy.ts';
import { linesOf, type Style, summaryLines } from './lines.ts';

/** Ten times a second is smooth and costs nothing. Milliseconds. */
const redrawEvery = 100;
const clearToEnd = '\u001b[0J';
const synchronised = { begin: '\u001b[?2026h', end: '\u001b[?2026l' };

/** On a terminal: lines scroll above, and below them stands one live line for each busy host. */
export function liveOutput(terminal: WriteStream, style: Style): Listener {
  const busy = new BusyHosts();
  let drawn = 0;

  const draw = (above: readonly string[], finished = false) => {
    const live = finished ? [] : liveLines(busy, terminal, style);
    const up = drawn > 0 ? `\u001b[${drawn}A\r` : '\r';
    const text = [...above.map(redact), ...live].map((line) => `${line}\n`).join('');
    // One write for each redraw, marked as one update, so that nothing is seen half drawn.
    terminal.write(`${synchronised.begin}${up}${clearToEnd}${text}${synchronised.end}`);
    drawn = live.length;
  };
  // With nothing to show nothing is written: a question may stand there.
  const timer = setInterval(() => {
    if (drawn > 0 || busy.list().length > 0) draw([]);
  }, redrawEvery);
  timer.unref();

  return (event) => {
    busy.follow(event);
    const lines = linesOf(event, style);
    if (event.type === 'run-finished') {
      clearInterval(timer);
      draw(summaryLines(event.hosts, event.seconds, style), true);
    } else if (lines.length > 0) {
      draw(lines);
    }
  };
}

function liveLines(busy: BusyHosts, terminal: WriteStream, style: Style): string[] {
  const room = Math.max(1, (terminal.rows ?? 24) - 4);
  const width = Math.max(20, (terminal.columns ?? 80) - 1);
  const all = busy.list();
  const shown = all.slice(0, all.length > room ? room - 1 : room);
  const more = all.length - shown.length;
  return [
    ...shown.map(({ host, what }) => cut(`${host.padEnd(style.hostWidth)}  … ${redact(what)}`, width)),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ].map((line) => style.paint('dim', line));
}

/** A line that wraps would be counted as one and tear the redraw. */
function cut(line: string, width: number): string {
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}
