import stringWidth from 'fast-string-width';
import { diffLines } from '../resource/diff.ts';
import type { Difference } from '../resource/resource.ts';
import type { HostSummary, Outcome, RunEvent } from '../run/events.ts';
import { redact } from '../secret/secret.ts';
import { counted } from '../text/counted.ts';
import { printable, readable } from '../text/printable.ts';
import type { Colour, Paint } from './colour.ts';
import { describeErrorOn } from './describe-error.ts';
import type { RunningTask } from './live/running-tasks.ts';
import { seconds } from './units.ts';
import { wrapped } from './wrapped.ts';

/** How much of a diff is shown: nothing, long new texts shortened, or all. */
export type DiffShown = 'none' | 'short' | 'whole';

/** The options of the output. */
export interface Style {
  readonly paint: Paint;
  /** Show tasks that are ok, and the stack of unexpected errors. */
  readonly verbose: boolean;
  /** Show problems and the summary only. */
  readonly quiet: boolean;
  readonly diff: DiffShown;
  /** Check mode: a change is `pending`, not `changed`. */
  readonly check: boolean;
  /** Width of the column of host names. */
  readonly hostWidth: number;
  /** The width of the terminal in columns; undefined without one. */
  width(): number | undefined;
}

const colours: Record<Outcome, Colour> = {
  ok: 'green',
  changed: 'yellow',
  pending: 'yellow',
  unknown: 'cyan',
  warning: 'magenta',
  failed: 'red',
  skipped: 'cyan',
};

/**
 * An event as lines of text. Every line about a host starts with its name. Some events have no
 * lines.
 */
export function linesOf(event: RunEvent, style: Style): string[] {
  const { paint } = style;
  const whole = (line: string) => wrapped(line, style.width());
  switch (event.type) {
    case 'run-started': {
      if (style.quiet) return [];
      const mode = event.check ? ' (check mode: nothing is changed)' : '';
      return whole(
        paint('bold', `${event.playbook} on ${printable(event.inventory)}: ${event.hosts.join(', ')}${mode}`),
      );
    }
    case 'host-connected':
      return style.verbose ? onHost(event.host, style, [`connected in ${seconds(event.seconds)}`]) : [];
    case 'host-unreachable':
      return onHost(
        event.host,
        style,
        labelled(paint('red', 'unreachable'), describeErrorOn(event.host, event.error, style.verbose)),
      );
    case 'play-started':
      return style.quiet ? [] : playLines(event.play, paint('dim', `  ${event.hosts.join(', ')}`), style);
    case 'play-skipped':
      return playLines(event.play, paint('red', `  skipped: ${fromHost(event.why)}`), style);
    case 'host-stopped':
      return onHost(event.host, style, [paint('red', `stopped: ${fromHost(event.why)}${remaining(event)}`)]);
    case 'stopping':
      return whole('stopping after the running changes; press Ctrl-C again to stop at once');
    case 'lock-awaited':
    case 'locks-taken':
      return lockLines(event, style);
    case 'resource-done':
      return resourceLines(event, style);
    default:
      return [];
  }
}

/** The title of a play, after an empty line. */
function playLines(play: string, rest: string, style: Style): string[] {
  return ['', ...wrapped(style.paint('bold', `play: ${play}`) + rest, style.width())];
}

/** A wait for the lock of a host, and its end. */
function lockLines(event: Extract<RunEvent, { type: 'lock-awaited' | 'locks-taken' }>, style: Style) {
  if (event.type === 'lock-awaited') {
    const what = `waiting up to ${seconds(event.most)} for its lock: ${fromHost(event.holder)} has it`;
    return onHost(event.host, style, [what]);
  }
  if (style.quiet) return [];
  return wrapped(`the locks are free after ${seconds(event.seconds)}: checking again`, style.width());
}

/** Width of the column of outcomes, with the blank behind it. */
const outcomeWidth = 8;

const indented = (line: string) => `  ${line}`;

/** Text of a host. Secrets are masked before long lines are cut. */
const fromHost = (text: string) => readable(redact(text));

/**
 * A finished task as lines of text.
 *
 * @param label the start of each line
 */
export function resourceLines(
  event: Extract<RunEvent, { type: 'resource-done' }>,
  style: Style,
  label = event.task.host,
): string[] {
  const { paint } = style;
  const { outcome, task } = event;
  // One with a note has something to tell.
  if (outcome === 'ok' && event.note === undefined && !style.verbose) return [];
  if (style.quiet && outcome !== 'failed' && outcome !== 'warning') return [];
  const notes = event.note ? fromHost(event.note).split('\n') : [];
  const differences = differencesOf(event.differences, style);
  const beside = notes.length === 1 && differences.length === 0 ? paint('dim', `  (${notes[0]})`) : '';
  const isTimed = event.seconds >= 0.1 && (style.verbose || outcome === 'changed' || outcome === 'failed');
  const took = isTimed ? paint('dim', `  ${seconds(event.seconds)}`) : '';
  const title = `${paint(colours[outcome], outcome.padEnd(outcomeWidth))}${task.role}: ${printable(task.resource)}${beside}${took}`;
  return [
    ...onHost(label, style, [title], outcomeWidth),
    ...(beside ? [] : onHost(label, style, notes.map(indented))),
    ...asItIs(label, style, [
      ...differences.map((line) => indented(paintDiff(line, paint))),
      ...commandLines(event.commands, style).map((line) => indented(paint('dim', line))),
    ]),
    ...(event.error === undefined
      ? []
      : onHost(
          label,
          style,
          describeErrorOn(task.host, event.error, style.verbose).split('\n').map(indented),
        )),
  ];
}

function differencesOf(differences: readonly Difference[], { diff }: Style): string[] {
  if (diff === 'none') return [];
  return diffLines(diff === 'whole' ? differences : differences.map(shortened));
}

/** A command of several lines is shortened to its first one, unless --diff is given. */
function commandLines(commands: readonly string[], { diff }: Style): string[] {
  if (diff === 'none') return [];
  return commands.flatMap((command) => {
    const [first = '', ...rest] = printable(command).split('\n');
    if (diff === 'whole') return [`$ ${first}`, ...rest.map((line) => `  ${line}`)];
    const more = `${rest.length} more ${rest.length === 1 ? 'line' : 'lines'}`;
    return rest.length > 0 ? `$ ${first} … (${more}: --diff)` : `$ ${first}`;
  });
}

/** A longer new text is shortened. Lines. */
const newLinesShown = 12;

/** Replaces a long new text by its number of lines. */
function shortened(difference: Difference): Difference {
  const { what, was, wanted } = difference;
  const lines = wanted.split('\n').length;
  if (was !== '' || lines <= newLinesShown) return difference;
  return { what, was: '', wanted: `${lines} new lines (--diff shows them)` };
}

/** A line of a diff in its colour. */
export function paintDiff(line: string, paint: Paint): string {
  if (line.startsWith('+')) return paint('green', line);
  if (line.startsWith('-')) return paint('red', line);
  return line;
}

function labelled(word: string, text: string): string[] {
  const [first = '', ...rest] = text.split('\n');
  return [`${word}: ${first}`, ...rest.map((line) => `  ${line}`)];
}

/**
 * Lines that start with the name of a host, wrapped behind it.
 *
 * @param hang the indent of what is wrapped, behind the name. Default: two more than that of the
 * line
 */
function onHost(host: string, style: Style, lines: readonly string[], hang?: number): string[] {
  const name = nameColumn(host, style);
  const before = stringWidth(name);
  // Redacted first: a secret may have a blank, where a line breaks.
  return lines.flatMap((line) => {
    const own = line.length - line.trimStart().length;
    return wrapped(`${name}${redact(line)}`.trimEnd(), style.width(), before + (hang ?? own + 2));
  });
}

/** The same for lines that are copied or compared: they are not wrapped. */
function asItIs(host: string, style: Style, lines: readonly string[]): string[] {
  return lines.map((line) => `${nameColumn(host, style)}${line}`.trimEnd());
}

function nameColumn(host: string, { paint, hostWidth }: Style): string {
  return `${paint('dim', host.padEnd(hostWidth))}  `;
}

/**
 * The lines at a sudden end of the process, as on a second Ctrl-C: the interrupted tasks, and how
 * to continue.
 */
export function cutOffLines(busy: readonly RunningTask[], style: Style): string[] {
  const cutOff = busy.flatMap(({ host, task }) =>
    onHost(host, style, [style.paint('red', `cut off: ${task}`)]),
  );
  if (cutOff.length === 0) return [];
  return [...cutOff, ...wrapped('stopped at once: the next run continues from here', style.width())];
}

/** The summary: one row for each host, then why hosts stopped. Empty without hosts. */
export function summaryLines(hosts: readonly HostSummary[], total: number, style: Style): string[] {
  if (hosts.length === 0) return [];
  const columns: readonly (readonly [string, (host: HostSummary) => string])[] = [
    ['ok', (h) => String(h.counts.ok)],
    style.check ? ['pending', (h) => String(h.counts.pending)] : ['changed', (h) => String(h.counts.changed)],
    ['unknown', (h) => String(h.counts.unknown)],
    ...(hosts.some((h) => h.counts.skipped)
      ? ([['skipped', (h: HostSummary) => String(h.counts.skipped ?? 0)]] as const)
      : []),
    ['warnings', (h) => String(h.counts.warning)],
    ['failed', (h) => (h.unreachable ? 'unreachable' : String(h.counts.failed))],
    ['time', (h) => seconds(h.seconds)],
    ...(style.verbose ? ([['round trips', (h: HostSummary) => String(h.roundTrips)]] as const) : []),
  ];
  const widths = columns.map(([title, cell]) => Math.max(title.length, ...hosts.map((h) => cell(h).length)));
  const row = (first: string, cells: readonly string[]) =>
    [first.padEnd(style.hostWidth), ...cells.map((cell, at) => cell.padStart(widths[at] ?? 0))].join('  ');
  const titles = columns.map(([title]) => title);
  const cellsOf = (host: HostSummary) => columns.map(([, cell]) => cell(host));
  return [
    '',
    style.paint('bold', row('', titles)),
    ...hosts.map((host) => style.paint(rowColour(host), row(host.host, cellsOf(host)))),
    style.paint('dim', `${counted(hosts.length, 'host')} in ${seconds(total)}`),
    ...[
      ...hosts
        .filter((h) => h.stopped && !h.unreachable)
        .map((h) => style.paint('red', `${h.host}: ${fromHost(h.stopped ?? '')}${remaining(h)}`)),
      ...(hosts.some((h) => h.stopped?.startsWith('interrupted'))
        ? ['interrupted: the next run continues from here']
        : []),
    ].flatMap((line) => wrapped(line, style.width())),
  ];
}

/** ` (12 tasks not done, next: time zone is Etc/UTC)`, or nothing. */
function remaining({ left = 0, next = '' }: Pick<HostSummary, 'left' | 'next'>): string {
  if (left === 0) return '';
  return ` (${left} ${left === 1 ? 'task not done:' : 'tasks not done, next:'} ${printable(next)})`;
}

function rowColour(host: HostSummary): Colour {
  if (host.unreachable || host.counts.failed > 0 || host.stopped) return 'red';
  return host.counts.changed + host.counts.pending > 0 ? 'yellow' : 'green';
}
