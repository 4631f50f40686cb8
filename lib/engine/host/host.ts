import type { Secret } from '../secret/secret.ts';
import type { Output } from './output.ts';

/**
 * A part of a command: it is quoted for a POSIX shell; an array becomes one word for each item.
 * Never a Secret.
 */
export type Word = string | number | readonly (string | number)[];

/** Settings of one command. */
export interface CommandOptions {
  /** Standard input of the command: the only way for a secret to reach a host. */
  readonly stdin?: string | Buffer | Secret;
  /**
   * The command is ended after this time, and its output has `timedOut`. Default 60 s for reads,
   * 600 s for changes.
   */
  readonly timeoutSeconds?: number;
  /** Exit codes of a change that are not a failure. Default [0]. */
  readonly allow?: readonly number[];
}

/**
 * A tagged template that runs a command: `` host.$`ls ${path}` `` or, with settings, `` host.$({
 * timeoutSeconds: 5 })`…` ``.
 */
export interface Shell {
  (pieces: TemplateStringsArray, ...words: readonly Word[]): Promise<Output>;
  (options: CommandOptions): (pieces: TemplateStringsArray, ...words: readonly Word[]) => Promise<Output>;
}

/**
 * The file at a path. `mode` is the permission bits as a number (0o644). Times are seconds since
 * 1970.
 */
export interface Stat {
  readonly type: 'file' | 'directory' | 'link' | 'other';
  readonly mode: number;
  readonly owner: string;
  readonly group: string;
  readonly uid: number;
  readonly gid: number;
  /** Bytes. */
  readonly size: number;
  readonly modified: number;
  /** Target of a link. */
  readonly target?: string;
}

export interface PackageState {
  readonly installed: boolean;
  readonly version: string | undefined;
}

/** A systemd unit, in systemd's own words. `load` is `not-found` if no such unit exists. */
export interface UnitState {
  readonly load: string;
  readonly active: string;
  readonly sub: string;
  readonly enabled: string;
  /** Seconds since 1970 when it last became active; 0 if it never did. */
  readonly activeSince: number;
  /** Whether its files have changed since systemd read them. */
  readonly needsReload: boolean;
  /** The end of its journal, of one whose program ended within a second of its start. */
  readonly lastWords?: string;
}

/** A container as `docker inspect` shows it. The whole document is in `raw`. */
export interface ContainerState {
  readonly id: string;
  /** The name of its image when it was made, and the id of that image. */
  readonly image: string;
  readonly imageId: string;
  readonly running: boolean;
  readonly status: string;
  readonly health: string | undefined;
  readonly exitCode: number;
  readonly restartCount: number;
  readonly startedAt: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly cpuShares: number;
  readonly raw: unknown;
}

/**
 * Where a query runs: `psql` inside a container, as the container's superuser, over its own
 * socket.
 */
export interface SqlTarget {
  readonly container: string;
  readonly user: string;
  readonly database: string;
}

/** Rows as text, NULL as null; or an error. */
export type SqlResult =
  | { readonly ok: true; readonly rows: readonly (readonly (string | null)[])[] }
  | { readonly ok: false; readonly error: string };

/**
 * Reads a host and changes nothing. All reads of one tick travel as one script over one channel;
 * reads of one kind become one command on the host.
 */
export interface Reader {
  /** Its name in the inventory. */
  readonly name: string;
  /**
   * Runs a command that only reads, as root, without a terminal, with LC_ALL=C. Does not throw
   * when it fails: see `ok`.
   */
  readonly $: Shell;
  /** undefined if the path does not exist. Does not follow links. */
  stat(path: string): Promise<Stat | undefined>;
  /** Hex, or undefined if there is no readable file. Follows links. */
  sha256(path: string): Promise<string | undefined>;
  /**
   * Whether a file has the content with this SHA-256 (in hex), and otherwise its content:
   * undefined for no file, or one of more than `largest` bytes. One request, where `sha256` and
   * then `read` would be two.
   */
  compare(path: string, sha256: string, largest: number): Promise<Compared>;
  /** Content, or undefined if the file does not exist. */
  read(path: string): Promise<Buffer | undefined>;
  package(name: string): Promise<PackageState>;
  unit(name: string): Promise<UnitState>;
  /** undefined if the container does not exist or no Docker engine answers. */
  container(name: string): Promise<ContainerState | undefined>;
  /** One SELECT. Errors of the server or a missing container come back as `ok: false`. */
  sql(target: SqlTarget, query: string): Promise<SqlResult>;
}

/** The comparison of a file with a content. */
export type Compared =
  | { readonly same: true }
  | { readonly same: false; readonly content: Buffer | undefined };

/** Wanted attributes of a file. `mode` is the permission bits; the host resolves the names. */
export interface FileAttributes {
  readonly mode: number;
  readonly owner: string;
  readonly group: string;
}

/** Progress of long work. */
export interface Progress {
  readonly what: string;
  readonly done?: number;
  readonly total?: number;
  readonly unit?: 'bytes' | 'rows' | 'seconds';
}

/**
 * Runs commands on a host that change it. Only `work` gets one: a change is steps, which
 * `makeChanges` makes.
 */
export interface Writer extends Reader {
  /**
   * Runs a command that changes something.
   *
   * @throws CommandFailed unless it exits with 0 or an allowed code
   */
  readonly run: Shell;
  /** Reports the progress of long work. */
  progress(progress: Progress): void;
  /**
   * Waits; ends early when the run is interrupted.
   *
   * @param seconds how long
   * @param until what ends it as well
   */
  sleep(seconds: number, until?: Promise<void>): Promise<void>;
}
