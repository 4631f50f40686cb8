import type { Answer } from '../chain/chain.ts';
import type { ServiceName } from '../variables/services.ts';

/** A block. */
export interface Block {
  readonly number: number;
  readonly hash: string;
  /** When it was made, by the chain. Seconds since 1970. */
  readonly time: number;
}

/** The newest that a chain has. */
export interface Head {
  readonly block: Block;
  readonly batch: number | undefined;
  /** When the synchronizer wrote the block into the state database. Seconds since 1970; undefined where that is not seen. */
  readonly written: number | undefined;
}

/** Both sides' hashes of the highest block that both have. */
export interface Comparison {
  readonly height: number;
  readonly here: string;
  readonly there: string;
  /** When the trusted sequencer made the first block that is not here. Seconds since 1970; undefined where none is missing. */
  readonly missingSince: number | undefined;
}

/** What a host has of the chain beside what the trusted sequencer has, as it is seen from that host. */
export interface ChainSeen {
  /** Where the host's own blocks were looked up. */
  readonly from: 'json-rpc' | 'state-db';
  readonly own: Answer<Head>;
  readonly trusted: Answer<Head>;
  /** Only where both are known. */
  readonly comparison: Answer<Comparison> | undefined;
}

export interface ContainerSeen {
  readonly image: string;
  /** Docker's word: `running`, `exited`, `restarting`, … */
  readonly status: string;
  /** Of the image's own health check, where it has one. */
  readonly health: string | undefined;
  readonly exitCode: number;
  readonly restarts: number;
  /** Since when it is in that state. Seconds since 1970; undefined where Docker does not tell. */
  readonly since: number | undefined;
  readonly configHash: string | undefined;
}

/** What the synchronizer's log said lately, since its container started. */
export interface LogSeen {
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
  /** As df has it and the disk alert goes by. */
  readonly usedPercent: number;
}

export interface ClockSeen {
  /** Less the controller's, seconds; 0 where the difference is no more than the trip could have caused. */
  readonly offController: number;
  /** Less that of the time server; undefined where there is none. */
  readonly offServer: number | undefined;
  readonly server: string | undefined;
  /** What is wrong with it. */
  readonly fault: string | undefined;
}

/** All that was looked at on one host. */
export interface Seen {
  /** The host's own clock, seconds since 1970. */
  readonly at: number;
  /** systemd's word for docker.service: `active` where it runs. */
  readonly docker: string;
  readonly containers: Readonly<Record<ServiceName, ContainerSeen | undefined>>;
  readonly chain: ChainSeen;
  /** undefined where no synchronizer runs. */
  readonly log: LogSeen | undefined;
  readonly disks: readonly DiskUse[];
  readonly clock: ClockSeen;
}

/** From where on something counts as wrong. */
export interface Limits {
  /** How long a host may go without the next block. Seconds. */
  readonly staleAfter: number;
  /** How many blocks it may be behind. */
  readonly mostBehind: number;
}

/** What the inventory says of a host. */
export interface Expected {
  /** undefined: does not belong there. */
  readonly services: Readonly<Record<ServiceName, { readonly image: string; readonly configHash: string } | undefined>>;
  readonly diskWarnPercent: number;
}

/** One thing that stands out. Without `fault` it is worth knowing, and the host is healthy all the same. */
export type Finding = { readonly fault: boolean } & (
  | { readonly is: 'docker-down'; readonly about: 'docker'; readonly state: string }
  | { readonly is: 'missing'; readonly about: ServiceName }
  | { readonly is: 'out-of-place'; readonly about: ServiceName }
  | {
      readonly is: 'stopped';
      readonly about: ServiceName;
      readonly status: string;
      readonly exitCode: number;
      /** Seconds. */
      readonly forSeconds: number | undefined;
    }
  | {
      readonly is: 'restarting' | 'restarted';
      readonly about: ServiceName;
      readonly restarts: number;
      readonly forSeconds: number | undefined;
    }
  | { readonly is: 'unhealthy'; readonly about: ServiceName }
  | { readonly is: 'wrong-image'; readonly about: ServiceName; readonly running: string; readonly wanted: string }
  | { readonly is: 'other-configuration'; readonly about: ServiceName }
  | { readonly is: 'halted'; readonly about: 'sync'; readonly words: string }
  | {
      readonly is: 'behind';
      readonly about: 'sync' | 'json-rpc';
      readonly behind: number;
      readonly block: number;
      readonly of: number;
      /** No new block came for so long, though there was one. Seconds; undefined where that is within the limit. */
      readonly stillFor: number | undefined;
      readonly words: string | undefined;
    }
  | {
      readonly is: 'stale';
      readonly about: 'sync' | 'json-rpc';
      readonly block: number;
      readonly stillFor: number;
      readonly words: string | undefined;
    }
  | { readonly is: 'ahead'; readonly about: 'sync' | 'json-rpc'; readonly ahead: number }
  | {
      readonly is: 'diverged';
      readonly about: 'sync' | 'json-rpc';
      readonly height: number;
      readonly here: string;
      readonly there: string;
    }
  | { readonly is: 'not-compared'; readonly about: 'sync' | 'json-rpc'; readonly error: string }
  | { readonly is: 'no-answer'; readonly about: 'json-rpc' | 'state-db' | 'trusted sequencer'; readonly error: string }
  | { readonly is: 'still'; readonly about: 'trusted sequencer'; readonly block: number; readonly stillFor: number }
  | {
      readonly is: 'full';
      readonly about: 'disk';
      readonly mount: string;
      readonly usedPercent: number;
      readonly warnPercent: number;
    }
  | { readonly is: 'not-synchronised'; readonly about: 'clock'; readonly words: string }
  | { readonly is: 'off-controller'; readonly about: 'clock'; readonly seconds: number }
);

/** How a host's chain stands to the trusted sequencer's. */
export type RunState = 'caught-up' | 'behind' | 'ahead' | 'diverged' | 'unknown';
