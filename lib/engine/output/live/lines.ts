import stringWidth from 'fast-string-width';
import { counted } from '../../text/counted.ts';
import type { Paint } from '../colour.ts';
import { bar, clock, measures } from '../units.ts';
import type { HostCounts } from './run-state.ts';
import type { RunningTask } from './running-tasks.ts';
import { cut, fitted } from './text-width.ts';

/** The content of the live lines. */
export interface Picture {
  readonly phase: 'looking' | 'waiting' | 'quiet' | 'changing';
  /** The lock that the run waits for, where it waits. */
  readonly lock?: { readonly host: string; readonly holder: string } | undefined;
  /** Interrupted: running changes are finished. */
  readonly stopping: boolean;
  readonly counts: HostCounts;
  /** In the order of the inventory. */
  readonly busy: readonly RunningTask[];
  /** Since the start of the run. */
  readonly seconds: number;
}

/** Size of a terminal in characters. */
export interface Room {
  readonly columns: number;
  readonly rows: number;
}

/**
 * One line for each running task, a second one with its progress where there is room, and a total
 * line. No line is wider than the terminal. Together they take at most a third of its height, and
 * at least three lines: a terminal that becomes half as wide wraps each line into two, and lines
 * that leave the screen cannot be cleared.
 */
export function liveLines(picture: Picture, { columns, rows }: Room, paint: Paint): string[] {
  if (picture.phase === 'quiet') return [];
  const width = Math.max(1, columns - 1);
  const height = Math.max(1, Math.min(rows - 1, Math.max(3, Math.floor(rows / 3))));
  if (picture.phase === 'waiting') return [paint('bold', cut(waitingText(picture), width))];
  if (picture.phase === 'looking') return [paint('bold', cut(lookingText(picture), width))];
  return [...busyLines(picture.busy, width, height - 1, paint), paint('bold', totalText(picture, width))];
}

function busyLines(busy: readonly RunningTask[], width: number, height: number, paint: Paint): string[] {
  const withProgress = busy.filter(({ progress }) => progress);
  if (busy.length + withProgress.length <= height) return hostLines(busy, withProgress, width, paint);
  if (busy.length <= height) return hostLines(busy, [], width, paint);
  if (height < 2) return [];
  const byImportance = [...busy].sort(byWeight);
  const measured = byImportance.slice(0, Math.floor(height / 3)).filter(isMeasured);
  const shown = byImportance.slice(0, height - 1 - measured.length);
  const more = paint('dim', cut(`… and ${busy.length - shown.length} more`, width));
  return [...hostLines(shown, measured, width, paint), more];
}

function isMeasured({ progress }: RunningTask): boolean {
  return progress?.done !== undefined;
}

/** Measurable work first, then the longest running. */
function byWeight(a: RunningTask, b: RunningTask): number {
  return Number(isMeasured(b)) - Number(isMeasured(a)) || b.seconds - a.seconds;
}

/**
 * @param detailed tasks that have a second line with their progress
 */
function hostLines(
  busy: readonly RunningTask[],
  detailed: readonly RunningTask[],
  width: number,
  paint: Paint,
) {
  const roomy = width >= 59;
  const cells = busy.map((each) => ({
    host: each.host,
    time: clock(each.seconds),
    count: roomy && each.tasks !== undefined ? `${each.tasksDone}/${each.tasks}` : '',
    share: detailed.includes(each)
      ? ''
      : ((each.progress && measures(each.progress, each.pace)?.share) ?? ''),
    below: detailed.includes(each) ? progressLine(each, width) : '',
    task: each.task,
  }));
  const widest = (column: 'host' | 'time' | 'count' | 'share') =>
    Math.max(0, ...cells.map((row) => stringWidth(row[column])));
  const hostWidth = Math.min(widest('host'), Math.max(5, Math.floor(width / 3)));
  return cells.flatMap((row) => {
    const columns = (['time', 'count', 'share'] as const).flatMap((column) =>
      widest(column) > 0 ? [row[column].padStart(widest(column))] : [],
    );
    const line = cut(
      [fitted(row.host, hostWidth), ...columns, row.task].join(roomy ? '  ' : ' '),
      width,
    ).trimEnd();
    return row.below === '' ? [line] : [line, paint('dim', row.below)];
  });
}

/** The most detailed progress that fits; empty without progress. */
function progressLine({ progress, pace }: RunningTask, width: number): string {
  if (!progress) return '';
  const { what, done = 0, total } = progress;
  const narrow = width >= 16 ? 2 : 0;
  const indent = ' '.repeat(width >= 59 ? 4 : narrow);
  const room = width - indent.length;
  const known = measures(progress, pace);
  if (!known) return indent + cut(what, room);
  const { amount, rate, left } = known;
  const form = (...parts: readonly (string | undefined)[]) =>
    parts.filter((part) => part !== undefined).join('  ');
  const fits = (texts: readonly string[], beside: number) =>
    texts.find((text) => stringWidth(text) + beside <= room);
  if (known.share === undefined || total === undefined) {
    return indent + cut(fits([form(what, amount, rate), form(amount, rate)], 0) ?? amount, room);
  }
  const share = known.share.padStart(3);
  const paceOnly = form(share, rate, left);
  const whole = form(share, amount, rate, left);
  // The bar has few widths, so that it does not change with the numbers beside it.
  for (const [text, widths] of [
    [form(whole, what), [30, 20]],
    [whole, [30, 20, 12]],
    [paceOnly, [30, 20, 12]],
  ] as const) {
    const columns = widths.find((each) => stringWidth(text) + 2 + each <= room);
    if (columns !== undefined) return `${indent}${bar(done / total, columns)}  ${text}`;
  }
  return indent + cut(fits([whole, paceOnly, form(share, left)], 0) ?? share, room);
}

function waitingText({ lock, seconds, stopping }: Picture): string {
  const start = stopping ? 'stopping: ' : '';
  return `${start}${clock(seconds)}  waiting for the lock of ${lock?.host}: ${lock?.holder} has it`;
}

function lookingText({ counts, seconds, stopping }: Picture): string {
  const { hosts, awaited, unreachable } = counts;
  const lost = unreachable > 0 ? `, ${unreachable} unreachable` : '';
  const looked = `checked ${hosts - awaited.length - unreachable} of ${counted(hosts, 'host')}${lost}`;
  return `${stopping ? 'stopping: ' : ''}${looked}  ${clock(seconds)}  waiting for ${awaited.join(', ')}`;
}

/** The most detailed form that fits. */
function totalText({ counts, busy, seconds, stopping }: Picture, width: number): string {
  const { hosts, done, failed, unreachable } = counts;
  const waiting = Math.max(0, hosts - done - failed - unreachable - busy.length);
  const some = (count: number, word: string) => (count > 0 ? [`${count} ${word}`] : []);
  const bad = [...some(failed, 'failed'), ...some(unreachable, 'unreachable')];
  const forms = [
    [
      `${done} of ${counted(hosts, 'host')} done`,
      ...some(busy.length, 'busy'),
      ...some(waiting, 'waiting'),
      ...bad,
    ],
    [`${done} of ${hosts} done`, ...some(busy.length, 'busy'), ...bad],
    [`${done}/${hosts} done`, ...bad],
    [`${done}/${hosts}`, ...some(failed + unreachable, 'failed')],
    [`${done}/${hosts}`],
  ].map((form) => `${form.join(', ')}  ${clock(seconds)}`);
  const stop = stopping ? 'stopping: ' : '';
  return cut(stop + (forms.find((form) => stringWidth(stop + form) <= width) ?? forms.at(-1)), width);
}
