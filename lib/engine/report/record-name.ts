import { basename } from 'node:path';

/** The parts of a run record's name. */
export interface RecordName {
  /** When the run started, as 20241121T164235Z: sorts as text. */
  readonly time: string;
  /** The inventory's name, made safe for a file name. */
  readonly inventory: string;
  /** Whether the run was in check mode. */
  readonly check: boolean;
}

/** The file name of a run record, without its folder. */
export function recordName({ time, inventory, check }: RecordName): string {
  return `${time}-${inventory}${check ? '.check' : ''}.ndjson`;
}

/**
 * @returns undefined where the file is not named as run records are
 */
export function parseRecordName(path: string): RecordName | undefined {
  const [, time, inventory, check] =
    /^(\d{8}T\d{6}Z)-([A-Za-z0-9_-]+)(\.check)?\.ndjson$/.exec(basename(path)) ?? [];
  return time === undefined || inventory === undefined
    ? undefined
    : { time, inventory, check: check !== undefined };
}

/**
 * @param time of a record's name, as 20241121T164235Z
 * @returns the same as 2024-11-21T16:42:35.000Z
 */
export function startOf(time: string): string {
  return time.replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6.000Z');
}

/** The report beside a record. */
export function reportBeside(record: string): string {
  return `${record.replace(/\.ndjson$/, '')}.html`;
}

/** An inventory's name as part of a file name: letters, digits, - and _, of bounded length. */
export function safeName(inventory: string): string {
  return inventory.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 100) || 'unnamed';
}

/** Newest first. All of it is ASCII; comparing by the rules of a language takes 5 ms to start. */
export function byAge(a: RecordName, b: RecordName): number {
  if (a.time !== b.time) return a.time < b.time ? 1 : -1;
  return a.inventory < b.inventory ? -1 : Number(a.inventory > b.inventory);
}
