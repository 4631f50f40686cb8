import { progressText } from '../output/units.ts';
import { textDiff } from '../resource/diff.ts';
import type { Recorded, RecordedEvent } from './recorded-event.ts';
import type { TextTable } from './text-table.ts';

/** How a cell is written: one character, so that ten thousand are ten kilobytes. */
export const cellSign = {
  ok: 'o',
  changed: 'c',
  pending: 'p',
  unknown: 'u',
  warning: 'w',
  failed: 'f',
  /** Begun, and the record ends before its end. */
  underWay: '~',
  /** The host stopped before it came to this. */
  notReached: '-',
  /** Nothing was told: not this host's, or never reached. */
  none: ' ',
  /** An outcome of a later version; its note begins with it. */
  other: '*',
} as const;

/** Play, role and resource, as places in the table of texts. */
export type Row = readonly [play: number, role: number, resource: number];

/**
 * What is to be said of a cell beside its outcome. `cell` is row times hosts plus host; `at` is milliseconds since the start, when
 * it ended; note, error and commands are places in the table of texts, or -1; the rest are places in the list of differences.
 */
export type Detail = readonly [
  cell: number,
  at: number,
  seconds: number,
  note: number,
  error: number,
  commands: number,
  ...differences: number[],
];

/** A difference in two short values, or line by line, of which `more` are left out. All are places in the table of texts. */
export type ShownDifference =
  | { readonly what: number; readonly was: number; readonly wanted: number }
  | { readonly what: number; readonly lines: readonly number[]; readonly more: number };

/** Resources by hosts. */
export interface Matrix {
  readonly rows: readonly Row[];
  /** For each row one character for each host, see `cellSign`. */
  readonly outcomes: readonly string[];
  readonly details: readonly Detail[];
  readonly differences: readonly ShownDifference[];
}

type Step = Pick<Recorded<'resource-started'>, 'host' | 'play' | 'role' | 'resource'>;

interface Cell {
  sign: string;
  at: number;
  seconds: number;
  note: string | undefined;
  error: string | undefined;
  /** Check mode: what would be run, one a line. */
  commands: string | undefined;
  differences: readonly number[];
  /** Told last of what is under way. */
  progress: Recorded<'progress'> | undefined;
}

interface RowOfCells {
  readonly step: Step;
  readonly cells: Map<string, Cell>;
}

/** Values that are shown side by side, as on the terminal. Characters. */
const sideBySide = 80;
/** Lines of one difference that a report holds. */
const longest = 1000;

/** @param hosts in the order of the columns */
export function matrixOf(
  events: readonly RecordedEvent[],
  hosts: readonly string[],
  start: number,
  texts: TextTable,
): Matrix {
  const rows = new RowsInOrder();
  const differences = new Differences(texts);
  for (const event of events) {
    if (event.type === 'resource-started') {
      const { step, cells } = rows.of(event);
      cells.set(event.host, { ...started, at: event.time });
      rows.seen(event.host, step);
    } else if (event.type === 'progress') {
      const cell = rows.of(event).cells.get(event.host);
      if (cell) cell.progress = event;
    } else if (event.type === 'resource-done') {
      const { step, cells } = rows.of(event);
      cells.set(event.host, doneCell(event, differences));
      rows.seen(event.host, step);
    }
  }
  const listed = rows.list();
  markUnreached(events, listed);
  const end = events.at(-1)?.time ?? start;
  return {
    rows: listed.map(({ step }) => [texts.add(step.play), texts.add(step.role), texts.add(step.resource)]),
    outcomes: listed.map(({ cells }) => hosts.map((host) => cells.get(host)?.sign ?? cellSign.none).join('')),
    details: listed.flatMap(({ cells }, row) =>
      hosts.flatMap((host, column): Detail[] => {
        const cell = cells.get(host);
        if (!cell || !says(cell)) return [];
        const { at, seconds, note, error } = cell.sign === cellSign.underWay ? unfinished(cell, end) : cell;
        return [
          [
            row * hosts.length + column,
            at - start,
            Math.round(seconds * 1000) / 1000,
            texts.add(note),
            texts.add(error),
            texts.add(cell.commands),
            ...cell.differences,
          ],
        ];
      }),
    ),
    differences: differences.list,
  };
}

const started: Cell = {
  sign: cellSign.underWay,
  at: 0,
  seconds: 0,
  note: undefined,
  error: undefined,
  commands: undefined,
  differences: [],
  progress: undefined,
};

function doneCell(event: Recorded<'resource-done'>, differences: Differences): Cell {
  const known = Object.hasOwn(cellSign, event.outcome) ? cellSign[event.outcome as keyof typeof cellSign] : undefined;
  const prefix = `${event.host}: `;
  return {
    sign: known ?? cellSign.other,
    at: event.time,
    seconds: event.seconds,
    note: known ? event.note : [`outcome ${event.outcome}`, event.note ?? []].flat().join(': '),
    // Where it happened is said beside it, and without it the same error of many hosts is one.
    error: event.error?.startsWith(prefix) ? event.error.slice(prefix.length) : event.error,
    commands: event.commands.length > 0 ? event.commands.join('\n') : undefined,
    differences: event.differences.map((difference) => differences.add(difference)),
    progress: undefined,
  };
}

function unfinished(cell: Cell, end: number): Cell {
  const { progress } = cell;
  const told = progress && `last told at ${new Date(progress.time).toISOString().slice(11, 19)} UTC: `;
  const note = progress ? `${told}${progressText(progressOf(progress))}` : 'nothing was told of its progress';
  return { ...cell, at: end, seconds: (end - cell.at) / 1000, note };
}

function progressOf({ what, done, total, unit }: Recorded<'progress'>) {
  return { what, ...(done !== undefined && { done }), ...(total !== undefined && { total }), ...(unit && { unit }) };
}

function says({ sign, seconds, note, error, differences }: Cell): boolean {
  const plain = sign === cellSign.ok || sign === cellSign.notReached;
  return !plain || seconds > 0 || note !== undefined || error !== undefined || differences.length > 0;
}

/** Of the play in which a host stopped, what comes after and others have. */
function markUnreached(events: readonly RecordedEvent[], rows: readonly RowOfCells[]): void {
  for (const event of events) {
    if (event.type !== 'host-stopped') continue;
    const last = rows.findLastIndex(({ step, cells }) => step.play === event.play && cells.has(event.host));
    for (const { step, cells } of rows.slice(last + 1)) {
      if (step.play !== event.play || cells.has(event.host)) continue;
      cells.set(event.host, { ...started, sign: cellSign.notReached });
    }
  }
}

/** Rows in the order of plays; hosts tell theirs side by side, so each new row goes behind the one that its host told before. */
class RowsInOrder {
  readonly #plays = new Map<string, RowOfCells[]>();
  readonly #byKey = new Map<string, RowOfCells>();
  readonly #last = new Map<string, RowOfCells>();

  of(step: Step): RowOfCells {
    const key = keyOf(step);
    const known = this.#byKey.get(key);
    if (known) return known;
    const { host, play, role, resource } = step;
    const row: RowOfCells = { step: { host, play, role, resource }, cells: new Map() };
    this.#byKey.set(key, row);
    const rows = this.#plays.get(play) ?? [];
    this.#plays.set(play, rows);
    const before = this.#last.get(host);
    const at = before ? rows.indexOf(before) + 1 : 0;
    rows.splice(at > 0 ? at : this.#behindRole(rows, role), 0, row);
    return row;
  }

  /** The host is at this row now. */
  seen(host: string, step: Step): void {
    const row = this.#byKey.get(keyOf(step));
    if (row) this.#last.set(host, row);
  }

  /** Roles in the order of their first rows, so that each stands in one piece. */
  list(): readonly RowOfCells[] {
    return [...this.#plays.values()].flatMap((rows) => {
      const roles = [...new Set(rows.map(roleOf))];
      return roles.flatMap((role) => rows.filter((row) => roleOf(row) === role));
    });
  }

  #behindRole(rows: readonly RowOfCells[], role: string): number {
    const last = rows.findLastIndex((row) => roleOf(row) === role);
    return last === -1 ? rows.length : last + 1;
  }
}

function roleOf({ step }: RowOfCells): string {
  return step.role;
}

function keyOf({ play, role, resource }: Step): string {
  return JSON.stringify([play, role, resource]);
}

/** Every difference once: a hundred hosts differ in the same way. */
class Differences {
  readonly list: ShownDifference[] = [];
  readonly #places = new Map<string, number>();
  readonly #texts: TextTable;

  constructor(texts: TextTable) {
    this.#texts = texts;
  }

  add({ what, was, wanted }: Recorded<'resource-done'>['differences'][number]): number {
    const key = JSON.stringify([what, was, wanted]);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place = this.list.push(this.#shown(what, was, wanted)) - 1;
    this.#places.set(key, place);
    return place;
  }

  #shown(what: string, was: string, wanted: string): ShownDifference {
    const texts = this.#texts;
    const short = (text: string) => text.length <= sideBySide && !text.includes('\n');
    const pair = (a: string, b: string) => ({ what: texts.add(what), was: texts.add(a), wanted: texts.add(b) });
    if (short(was) && short(wanted)) return pair(was, wanted);
    const lines = textDiff(was, wanted);
    if (!lines) return pair(countOf(was), countOf(wanted));
    return {
      what: texts.add(what),
      lines: lines.slice(0, longest).map((line) => texts.add(line)),
      more: Math.max(0, lines.length - longest),
    };
  }
}

function countOf(text: string): string {
  return `${text.split('\n').length} lines`;
}
