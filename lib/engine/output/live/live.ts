import type { WriteStream } from 'node:tty';
import type { Listener } from '../../run/events.ts';
import { redact } from '../../secret/secret.ts';
import { GroupedWarnings } from '../grouped-warnings.ts';
import { cutOffLines, type Style, summaryLines } from '../lines.ts';
import { LiveArea } from './area.ts';
import { BusyHosts } from './busy.ts';
import { guard } from './guard.ts';
import { liveLines } from './lines.ts';
import { RunState } from './run-state.ts';

type Terminal = WriteStream & { readonly fd: number };

/** Often enough to be smooth. Most redraws find nothing that differs. Milliseconds. */
const redrawEvery = 100;
/**
 * For so long after the terminal changed its size nothing is drawn: a window that is dragged changes it many times, and with each
 * of them terminals push what they re-wrapped upwards. Milliseconds.
 */
const settlesWithin = 150;

/** On a terminal: lines scroll above, and below them stands one live line for each busy host, and a total line. */
export function liveOutput(terminal: Terminal, style: Style): Listener {
  const busy = new BusyHosts();
  const standing = new RunState();
  const warnings = new GroupedWarnings(style);
  const area = new LiveArea(terminal);
  const began = performance.now();
  let settled = 0;

  const live = () => {
    const now = performance.now();
    if (now < settled) return [];
    const { phase, stopping, hosts } = standing;
    const place = new Map(hosts.map((host, at) => [host, at]));
    const inOrder = busy.list().sort((a, b) => (place.get(a.host) ?? 0) - (place.get(b.host) ?? 0));
    return liveLines(
      { phase, stopping, counts: standing.counts(), busy: inOrder, seconds: (now - began) / 1000 },
      { columns: terminal.columns || 80, rows: terminal.rows || 24 },
      style.paint,
    );
  };
  const follower = follow(terminal, {
    refresh: () => area.refresh(live()),
    resized: () => {
      settled = performance.now() + settlesWithin;
      area.clear();
    },
    clear: () => area.clear(),
    exit: () => area.draw([...warnings.release(), ...cutOffLines(busy.list(), style)].map(redact), []),
  });

  return (event) => {
    busy.follow(event);
    standing.follow(event);
    const lines = warnings.linesOf(event);
    if (event.type === 'run-started') follower.begin();
    if (event.type === 'run-finished') lines.push(...summaryLines(event.hosts, event.seconds, style));
    if (event.type === 'run-finished' || event.type === 'run-failed') {
      follower.end();
      area.draw(lines.map(redact), []);
    } else if (lines.length > 0) area.draw(lines.map(redact), live());
  };
}

interface Drawing {
  refresh(): void;
  resized(): void;
  clear(): void;
  exit(): void;
}

/** Draws again as time passes and as the terminal changes, and leaves it usable however the process ends. */
function follow(terminal: Terminal, drawing: Drawing): { begin(): void; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  let unguard = () => {};
  const onExit = () => {
    drawing.exit();
    unguard();
  };
  // What stops or ends the process by its nature does so once nothing of ours stands below the shell's prompt.
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
    unguard();
    terminal.off('resize', drawing.resized);
    process.off('exit', onExit);
    process.off('SIGTSTP', onStop);
    process.off('SIGQUIT', onQuit);
  };
  return {
    begin() {
      timer = setInterval(drawing.refresh, redrawEvery);
      timer.unref();
      terminal.on('resize', drawing.resized);
      process.on('exit', onExit);
      unguard = guard(terminal.fd);
      process.on('SIGTSTP', onStop);
      process.on('SIGQUIT', onQuit);
    },
    end,
  };
}
