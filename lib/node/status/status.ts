import type { Answer } from '../chain/chain.ts';
import type { ServiceName } from '../render/render.ts';

// Times are seconds since 1970; a field `…Seconds` or `…For` is a number of seconds.

/** A block. */
export interface Block {
  readonly block: number;
  readonly hash: string;
  /** When the chain made it. */
  readonly made: number;
}

/** The newest block of a chain. */
export interface Head extends Block {
  readonly batch?: number | undefined;
  /** When the synchronizer wrote it into the state database; undefined where another source was asked. */
  readonly written?: number | undefined;
}

/** Both sides' hashes of the highest block that both have. */
export interface Comparison {
  readonly height: number;
  readonly same: boolean;
  readonly here: string;
  readonly there: string;
  /** When the trusted sequencer made the first block that the host lacks; undefined where the host lacks no block. */
  readonly missingSince: number | undefined;
}

/** The host's chain beside that of the trusted sequencer, both read from the host. */
export interface ChainState {
  /** The source of the host's own blocks. */
  readonly from: 'json-rpc' | 'state-db';
  readonly own: Answer<Head>;
  readonly trusted: Answer<Head>;
  /** Only where both are known. */
  readonly comparison: Answer<Comparison> | undefined;
}

/** The container of a service. */
export interface ServiceState {
  readonly image: string;
  /** Docker's word: `running`, `exited`, `restarting`, … */
  readonly status: string;
  /** Of the image's own health check, where it has one. */
  readonly health: string | undefined;
  readonly exitCode: number;
  readonly restarts: number;
  /** The start of its current status; undefined where Docker does not report it. */
  readonly since: number | undefined;
  readonly configHash: string | undefined;
}

/** The recent log of the synchronizer, since its container started. */
export interface LogState {
  /** Why it halted, in its own words. */
  readonly halted: string | undefined;
  readonly lastError: string | undefined;
}

/** A file system with data. Sizes in bytes. */
export interface DiskUse {
  readonly mount: string;
  readonly size: number;
  readonly used: number;
  readonly available: number;
  /** As df and the disk alert compute it. */
  readonly usedPercent: number;
}

/** The host's clock. */
export interface ClockState {
  /** Less the controller's, in seconds; 0 where the round trip explains the difference. */
  readonly offController: number;
  /** Less that of the time server, in seconds; undefined where there is no server. */
  readonly offServer: number | undefined;
  readonly server: string | undefined;
  /** What is wrong with it. */
  readonly fault: string | undefined;
}

/** All that is read from one host. */
export interface HostState {
  /** The time by the host's own clock. */
  readonly at: number;
  /** systemd's word for docker.service: `active` where it runs. */
  readonly docker: string;
  readonly containers: Readonly<Record<ServiceName, ServiceState | undefined>>;
  readonly chain: ChainState;
  /** undefined where no synchronizer runs. */
  readonly log: LogState | undefined;
  readonly disks: readonly DiskUse[];
  readonly clock: ClockState;
}

/** Limits above which a host is unhealthy. */
export interface Limits {
  /** How long a host may go without the next block. Seconds. */
  readonly staleAfter: number;
  /** How many blocks it may be behind. */
  readonly mostBehind: number;
}

/** What the inventory demands of a host. */
export interface Expected {
  /** undefined: the service does not belong on the host. */
  readonly services: Readonly<Record<ServiceName, { readonly image: string; readonly configHash: string } | undefined>>;
  readonly diskWarnPercent: number;
}

/** One thing that an operator should know about a host (docs/status.md). */
export interface Finding {
  /** The kind, such as `stale`. */
  readonly is: string;
  /** A service, `docker`, `disk`, `clock` or `trusted sequencer`. */
  readonly about: string;
  /** A host with a fault is unhealthy. */
  readonly fault: boolean;
  /** In words, after its subject: `json-rpc: 132 blocks behind (block 4,120 of 4,252)`. */
  readonly says: string;
  /** The numbers and names of its kind. */
  readonly [detail: string]: string | number | boolean | undefined;
}
