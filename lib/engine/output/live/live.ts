import type { WriteStream } from 'node:tty';
import type { Listener } from '../../run/events.ts';
import { redact } from '../../secret/secret.ts';
import { GroupedWarnings } from '../grouped-warnings.ts';
import { cutOffLines, type Style, summaryLines } from '../lines.ts';
import { restsForQuestions } from '../terminal.ts';
import { liveArea } from './area.ts';
import { liveLines, type Picture } from './lines.ts';
import { RunState } from './run-state.ts';
import { RunningTasks } from './running-tasks.ts';

/** Often enough to be smooth. Most redraws find no difference. Milliseconds. */
const redrawEvery = 100;
/**
 * The pause after a resize. A window that is dragged resizes many times, and each time the
 * terminal pushes re-wrapped lines up. Milliseconds.
 */
const settlesWithin = 150;

/**
 * Shows a run on a terminal: lines scroll above, and below are a live line for each running task
 * and a total line.
 */
export function liveOutput(terminal: WriteStream, style: Style): Listener {
  const busy = new RunningTasks();
  const state = new RunState();
  const warnings = new GroupedWarnings(style);
  const area = liveArea(terminal);
  const start = performance.now();
  let settled = 0;
  /** Lines that wait for the answer to a question. */
  let waiting: string[] | undefined;

  const live = () => {
    const now = performance.now();
    if (now < settled || waiting) return [];
    const room = { columns: terminal.columns || 80, rows: terminal.rows || 24 };
    return liveLines(pictureOf(state, busy, (now - start) / 1000), room, style.paint);
  };
  const follower = follow(terminal, {
    refresh: () => area.refresh(live()),
    resized: () => {
      settled = performance.now() + settlesWithin;
      area.clear();
    },
    clear: () => area.clear(),
    exit: () => area.draw([...warnings.release(), ...cutOffLines(busy.list(), style)].map(redact), []),
    pause: () => {
      area.clear();
      waiting = [];
    },
    resume: () => {
      const lines = waiting ?? [];
      waiting = undefined;
      area.draw(lines, live());
    },
  });

  return (event) => {
    busy.follow(event);
    state.follow(event);
    const lines = warnings.linesOf(event);
    if (event.type === 'run-started') follower.begin();
    if (event.type === 'run-finished') lines.push(...summaryLines(event.hosts, event.seconds, style));
    if (event.type === 'run-finished' || event.type === 'run-failed') {
      follower.end();
      area.draw([...(waiting ?? []), ...lines.map(redact)], []);
      waiting = undefined;
    } else if (waiting) {
      waiting.push(...lines.map(redact));
    } else if (lines.length > 0) area.draw(lines.map(redact), live());
  };
}

function pictureOf(state: RunState, busy: RunningTasks, seconds: number): Picture {
  const { phase, stopping, hosts } = state;
  const place = new Map(hosts.map((host, at) => [host, at]));
  const inOrder = busy.list().sort((a, b) => (place.get(a.host) ?? 0) - (place.get(b.host) ?? 0));
  return { phase, stopping, lock: state.lock, counts: state.counts(), busy: inOrder, seconds };
}

type Drawing = Readonly<Record<'refresh' | 'resized' | 'clear' | 'exit' | 'pause' | 'resume', () => void>>;

/** Redraws with time and on a resize, and leaves the terminal usable however the process ends. */
function follow(terminal: WriteStream, drawing: Drawing): { begin(): void; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  let unrest = () => {};
  // The live lines are cleared before the signal stops or ends the process.
  const onStop = () => {
    drawing.clear();
    process.kill(process.pid, 'SIGSTOP');
  };
  const onQuit = () => {
    end();
    drawing.clear();
    process.kill(process.pid, 'SIGQUIT');
  };
  const end = () => {
    clearInterval(timer);
    unrest();
    terminal.off('resize', drawing.resized);
    process.off('exit', drawing.exit);
    process.off('SIGTSTP', onStop);
    process.off('SIGQUIT', onQuit);
  };
  return {
    begin() {
      timer = setInterval(drawing.refresh, redrawEvery);
      timer.unref();
      terminal.on('resize', drawing.resized);
      process.on('exit', drawing.exit);
      unrest = restsForQuestions(drawing);
      process.on('SIGTSTP', onStop);
      process.on('SIGQUIT', onQuit);
    },
    end,
  };
}
