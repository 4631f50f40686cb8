import type { Secret } from '../secret/secret.ts';
import type { Output } from './output.ts';

/** What may stand in a command: it is quoted for a POSIX shell; an array becomes one word for each item. Never a Secret. */
export type Word = string | number | readonly (string | number)[];

/** Settings of one command. */
export interface CommandOptions {
  /** Given to the command as its standard input. The only way a secret may reach a host. */
  readonly stdin?: string | Buffer | Secret;
  /** The command is ended after so long and its output says `timedOut`. Default 60 s for reads, 600 s for changes. */
  readonly timeoutSeconds?: number;
  /** Exit codes of a change that are no failure. Default [0]. */
  readonly allow?: readonly number[];
}

/** A tagged template that runs a command: `` host.$`ls ${path}` `` or, with settings, `` host.$({ timeoutSeconds: 5 })`…` ``. */
export interface Shell {
  (pieces: TemplateStringsArray, ...words: readonly Word[]): Promise<Output>;
  (options: CommandOptions): (pieces: TemplateStringsArray, ...words: readonly Word[]) => Promise<Output>;
}

/** What lies at a path. `mode` is the permission bits as a number (0o644). Times are seconds since 1970. */
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
  /** Where a link points. */
  readonly target?: string;
}

export interface PackageState {
  readonly installed: boolean;
  readonly version: string | undefined;
}

/** A systemd unit. `load` is `not-found` where no such unit exists; all three are systemd's own words. */
export interface UnitState {
  readonly load: string;
  readonly active: string;
  readonly sub: string;
  readonly enabled: string;
  /** Seconds since 1970 at which it last became active; 0 when it never did. */
  readonly activeSince: number;
  /** `success`, or how the last run of it ended. */
  readonly result: string;
  readonly mainExitCode: number;
}

/** A container as `docker inspect` shows it. The whole document is in `raw`. */
export interface ContainerState {
  readonly id: string;
  readonly image: string;
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

/** Where a query goes: `psql` inside a container, as the container's superuser, over its own socket. */
export interface SqlTarget {
  readonly container: string;
  readonly user: string;
  readonly database: string;
}

/** Rows as text, NULL as null; or why there are none. */
export type SqlResult =
  | { readonly ok: true; readonly rows: readonly (readonly (string | null)[])[] }
  | { readonly ok: false; readonly error: string };

/**
 * Looks at a host and changes nothing. Everything asked for in one tick travels as one script over one channel;
 * reads of one kind become one command on the host.
 */
export interface Reader {
  /** The name the inventory gives it. */
  readonly name: string;
  /** Runs a command that only looks. Does not throw when it fails: see `ok`. Root's rights, no terminal, LC_ALL=C. */
  readonly $: Shell;
  /** undefined where nothing is. Does not follow links. */
  stat(path: string): Promise<Stat | undefined>;
  /** Hex, or undefined where there is no readable file. Follows links. */
  sha256(path: string): Promise<string | undefined>;
  /**
   * Whether a file has a content, by its SHA-256 in hex, and the content that it has instead: undefined where there is no file, or
   * one of more than `largest` bytes. One look, where `sha256` and then `read` would be two.
   */
  compare(path: string, sha256: string, largest: number): Promise<Compared>;
  /** Content, or undefined where there is no file. */
  read(path: string): Promise<Buffer | undefined>;
  package(name: string): Promise<PackageState>;
  unit(name: string): Promise<UnitState>;
  /** undefined where there is no such container or no Docker engine answers. */
  container(name: string): Promise<ContainerState | undefined>;
  /** One SELECT. Errors of the server or a missing container come back as `ok: false`. */
  sql(target: SqlTarget, query: string): Promise<SqlResult>;
}

/** How a file compares with a content. */
export type Compared = { readonly same: true } | { readonly same: false; readonly content: Buffer | undefined };

/** What a file is to be like. Numbers are permission bits; names are looked up on the host. */
export interface FileAttributes {
  readonly mode: number;
  readonly owner: string;
  readonly group: string;
}

/** How far long work is. Bytes where it counts bytes, any unit otherwise. */
export interface Progress {
  readonly what: string;
  readonly done?: number;
  readonly total?: number;
  readonly unit?: 'bytes' | 'rows' | 'seconds';
}

/** Changes a host. Handed to `apply` only. */
export interface Writer extends Reader {
  /** Runs a command that changes something. @throws CommandFailed unless it exits with 0 or an allowed code */
  readonly run: Shell;
  /**
   * Puts a file in place by a temporary name, fsync and rename: a consumer sees the old one or the new one. One that has this content
   * already stays, and only its attributes are set.
   *
   * @throws CommandFailed where a directory or a device is in its place
   */
  write(path: string, content: string | Buffer | Secret, attributes: FileAttributes): Promise<void>;
  /**
   * Puts another content into a file that is there, likewise. Its mode and owner stay; of a link it is the target that changes.
   *
   * @param was SHA-256, in hex, of the content that it replaces: a change by somebody else is not lost
   * @returns false where the file has another content by now, and is left alone, or is gone
   * @throws CommandFailed where a directory or a device is there
   */
  rewrite(path: string, was: string, content: string): Promise<boolean>;
  /** Tells whoever watches how far long work is. */
  progress(progress: Progress): void;
  /** Waits; ends early when the run is interrupted. @param seconds how long */
  sleep(seconds: number): Promise<void>;
}
