import type { Listener } from '../run/events.ts';
import { redact } from '../secret/secret.ts';
import { GroupedWarnings } from './grouped-warnings.ts';
import { cutOffLines, linesOf, type Style, summaryLines } from './lines.ts';
import { RunningTasks, runningTaskText } from './live/running-tasks.ts';

/** Long work prints a line at this interval, so that CI does not consider it hung. Seconds. */
const heartbeat = 30;

/**
 * Prints a run as plain lines, for a pipe or a file.
 *
 * @param asks whether the run asks questions: then warnings are not held back for grouping
 */
export function plainOutput(write: (text: string) => void, style: Style, asks = false): Listener {
  const print = (lines: readonly string[]) => {
    for (const line of lines) write(`${redact(line)}\n`);
  };
  const busy = new RunningTasks();
  const timer = setInterval(() => {
    print(busy.list().map((each) => `${each.host.padEnd(style.hostWidth)}  … ${runningTaskText(each)}`));
  }, heartbeat * 1000);
  timer.unref();
  const warnings = new GroupedWarnings(style);
  const onExit = () => print([...warnings.release(), ...cutOffLines(busy.list(), style)]);
  return (event) => {
    busy.follow(event);
    print(asks ? linesOf(event, style) : warnings.linesOf(event));
    if (event.type === 'run-started') process.on('exit', onExit);
    if (event.type !== 'run-finished' && event.type !== 'run-failed') return;
    clearInterval(timer);
    process.off('exit', onExit);
    if (event.type === 'run-finished') print(summaryLines(event.hosts, event.seconds, style));
  };
}
