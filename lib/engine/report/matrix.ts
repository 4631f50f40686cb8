import type { Progress } from '../host/host.ts';
import { progressText } from '../output/units.ts';
import { isKeyOf } from '../text/keys.ts';
import { clockOf } from './clock.ts';
import { groupsOf } from './groups.ts';
import { outcomes, type ShownOutcome } from './outcomes.ts';
import type { Recorded, RecordedEvent } from './recorded-event.ts';

type Task = Pick<Recorded<'resource-started'>, 'host' | 'play' | 'role' | 'resource'>;

/** One task on one host. */
export interface Cell extends Task {
  readonly outcome: ShownOutcome;
  /**
   * When it ended, or the last event of a run without an end. Milliseconds since 1970; 0 if it was
   * not reached.
   */
  readonly at: number;
  readonly seconds: number;
  readonly note?: string | undefined;
  readonly error?: string | undefined;
  /** Check mode: the commands that it would run. */
  readonly commands: readonly string[];
  readonly differences: Recorded<'resource-done'>['differences'];
}

/** One task, with its cell of each host that has it. */
export interface Row extends Omit<Task, 'host'> {
  readonly cells: Map<string, Cell>;
}

/** The cells of one task with the same result on several hosts. */
export interface Entry {
  /** Its anchor in the page. */
  readonly id: string;
  /** Its place among the rows. */
  readonly row: number;
  readonly cells: readonly [Cell, ...Cell[]];
}

const nothing = { at: 0, seconds: 0, commands: [], differences: [] };

/** Tasks by hosts, in the order of plays and roles. */
export function matrixOf(events: readonly RecordedEvent[]): readonly Row[] {
  const rows = new RowsInOrder();
  const end = events.at(-1)?.time ?? 0;
  for (const event of events) {
    if (event.type === 'host-unreachable') {
      const { host, time: at } = event;
      const task = { host, play: 'connect', role: 'connection', resource: 'host is reachable' };
      rows.put(task, {
        ...nothing,
        outcome: 'unreachable',
        at,
        error: withoutPrefix(event.error, `${host}: `),
      });
    } else if (event.type === 'resource-started') {
      const seconds = (end - event.time) / 1000;
      rows.put(event, {
        ...nothing,
        outcome: 'unfinished',
        at: end,
        seconds,
        note: 'no progress was reported',
      });
    } else if (event.type === 'progress') {
      const cell = rows.cell(event);
      const note = `last reported at ${clockOf(event.time)} UTC: ${progressText(event as Progress)}`;
      if (cell?.outcome === 'unfinished') rows.put(event, { ...cell, note });
    } else if (event.type === 'resource-done') {
      rows.put(event, doneCell(event));
    }
  }
  const listed = rows.list();
  for (const event of events) if (event.type === 'host-stopped') markUnreached(event, listed);
  return listed;
}

function doneCell(event: Recorded<'resource-done'>): Omit<Cell, keyof Task> {
  const { outcome, time, seconds, note, commands, differences, host, resource } = event;
  const known = isKeyOf(outcomes, outcome);
  return {
    outcome: known ? outcome : 'other',
    at: time,
    seconds,
    note: known ? note : [`outcome ${outcome}`, note ?? []].flat().join(': '),
    // Host and task are shown beside it. Without them the same error of many hosts is one entry.
    error: withoutPrefix(withoutPrefix(event.error, `${host}: `), `${resource}: `),
    commands,
    differences,
  };
}

function withoutPrefix(text: string | undefined, prefix: string): string | undefined {
  return text?.startsWith(prefix) ? text.slice(prefix.length) : text;
}

/** In the play in which a host stopped: the later tasks of other hosts. */
function markUnreached({ host, play }: Recorded<'host-stopped'>, rows: readonly Row[]): void {
  const last = rows.findLastIndex((row) => row.play === play && row.cells.has(host));
  for (const { cells, ...task } of rows.slice(last + 1)) {
    if (task.play === play && !cells.has(host))
      cells.set(host, { ...nothing, host, ...task, outcome: 'unreached' });
  }
}

/**
 * Hosts work in parallel and may have different tasks: each new row follows the last one of its
 * host.
 */
class RowsInOrder {
  readonly #plays = new Map<string, Row[]>();
  readonly #byKey = new Map<string, Row>();
  readonly #last = new Map<string, Row>();

  cell(task: Task): Cell | undefined {
    return this.#byKey.get(keyOf(task))?.cells.get(task.host);
  }

  put({ host, play, role, resource }: Task, cell: Omit<Cell, keyof Task>): void {
    const task = { host, play, role, resource };
    const key = keyOf(task);
    const row = this.#byKey.get(key) ?? this.#add(task);
    this.#byKey.set(key, row);
    this.#last.set(host, row);
    row.cells.set(host, { ...task, ...cell });
  }

  #add({ host, play, role, resource }: Task): Row {
    const row: Row = { play, role, resource, cells: new Map() };
    const rows = this.#plays.get(play) ?? [];
    this.#plays.set(play, rows);
    const before = this.#last.get(host);
    const after =
      before?.play === play ? rows.indexOf(before) : rows.findLastIndex((each) => each.role === role);
    rows.splice(after === -1 ? rows.length : after + 1, 0, row);
    return row;
  }

  /** Each role in one piece, in the order of their first rows. */
  list(): readonly Row[] {
    return [...this.#plays.values()].flatMap((rows) => groupsOf(rows, ({ role }) => role).flat());
  }
}

function keyOf({ play, role, resource }: Task): string {
  return JSON.stringify([play, role, resource]);
}

/** All details of cells, once for all hosts with the same ones, in the order of the rows. */
export function entriesOf(rows: readonly Row[], hosts: readonly string[]): ReadonlyMap<Cell, Entry> {
  const cells = rows.flatMap((row) => hosts.flatMap((host) => row.cells.get(host) ?? []));
  const groups = groupsOf(
    cells.filter((cell) => !isPlain(cell)),
    ({ at, seconds, host, play, ...same }) => same,
  );
  const entries = groups.map((same, at): Entry => {
    const row = rows.findIndex((each) => each.cells.get(same[0].host) === same[0]);
    return { id: `e${at + 1}`, row, cells: same };
  });
  return new Map(entries.flatMap((entry) => entry.cells.map((cell) => [cell, entry] as const)));
}

/** Its outcome is its only detail. */
function isPlain({ outcome, seconds, note, error, differences }: Cell): boolean {
  if (outcome === 'unreached') return true;
  return (
    outcome === 'ok' && seconds === 0 && note === undefined && error === undefined && differences.length === 0
  );
}
