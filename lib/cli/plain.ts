import type { Listener } from '../run/events.ts';
import { redact } from '../secret/secret.ts';
import { BusyHosts } from './busy.ts';
import { linesOf, type Style, summaryLines } from './lines.ts';

/** How often long work says that it still goes on, so that CI does not think it hung. Seconds. */
const heartbeat = 30;

/** Plain lines, for a pipe or a file. */
export function plainOutput(write: (text: string) => void, style: Style): Listener {
  const print = (lines: readonly string[]) => {
    for (const line of lines) write(`${redact(line)}\n`);
  };
  const busy = new BusyHosts();
  const timer = setInterval(() => {
    print(busy.list().map(({ host, what }) => `${host.padEnd(style.hostWidth)}  … ${what}`));
  }, heartbeat * 1000);
  timer.unref();
  return (event) => {
    busy.follow(event);
    print(linesOf(event, style));
    if (event.type !== 'run-finished') return;
    clearInterval(timer);
    print(summaryLines(event.hosts, event.seconds, style));
  };
}
