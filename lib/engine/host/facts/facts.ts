import type { parseCpu } from './cpu.ts';
import type { parseOsRelease } from './os-release.ts';

/** A mounted file system. Sizes in bytes. */
export interface Mount {
  readonly target: string;
  readonly source: string;
  readonly type: string;
  readonly options: readonly string[];
  readonly size: number;
  readonly available: number;
}

/** A block device as `lsblk` shows it. Size in bytes. */
export interface BlockDevice {
  readonly path: string;
  readonly size: number;
  readonly type: string;
  readonly rotational: boolean;
  /** `nvme`, `sata`, … or empty. */
  readonly transport: string;
  /** File system or any other signature on it; empty without one, `unknown` if the device could not be read. */
  readonly signature: string;
  readonly mountpoints: readonly string[];
  readonly parent: string | undefined;
}

/** Facts of a host, gathered in one request before any role reads them. */
export interface Facts {
  readonly distribution: Readonly<ReturnType<typeof parseOsRelease>>;
  /** As `uname -m` prints it: `x86_64`. */
  readonly architecture: string;
  readonly kernel: string;
  readonly cpu: Readonly<ReturnType<typeof parseCpu>>;
  /** Bytes. */
  readonly memory: number;
  readonly mounts: readonly Mount[];
  readonly blockDevices: readonly BlockDevice[];
  /** Whether systemd is the first process. */
  readonly systemd: boolean;
  /** The kind of container that the host is, in the words of systemd-detect-virt. */
  readonly container: string | undefined;
  /** The host's clock minus the controller's, seconds; 0 if the duration of the request can explain the difference. */
  readonly clockOffset: number;
  readonly hostname: string;
}
