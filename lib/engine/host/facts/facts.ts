import type { parseCpu } from './cpu.ts';
import type { FstabEntry } from './fstab.ts';
import type { parseOsRelease } from './os-release.ts';

/** A mounted file system. Sizes in bytes. */
export interface Mount {
  readonly target: string;
  readonly source: string;
  readonly type: string;
  readonly options: readonly string[];
  readonly size: number;
  readonly available: number;
  /**
   * The folder of the file system that is mounted: `/`, or that of a bind mount or a subvolume.
   */
  readonly root: string;
  /** The number of its device, `8:1`. btrfs and ZFS have numbers that no block device has. */
  readonly number: string;
  /** Whether it holds the file in which Azure's agent says that its data will be lost. */
  readonly saysDataLoss: boolean;
}

/** A block device as `lsblk` shows it. Size in bytes. */
export interface BlockDevice {
  readonly path: string;
  readonly size: number;
  readonly type: string;
  readonly rotational: boolean;
  /** `nvme`, `sata`, … or empty. */
  readonly transport: string;
  /**
   * File system or any other signature on it; empty without one, `unknown` if the device could not
   * be read.
   */
  readonly signature: string;
  readonly mountpoints: readonly string[];
  /**
   * The devices that it is made of: the disk of a partition, the disks of an array or a volume.
   */
  readonly parents: readonly string[];
  /** The number of the device, `8:1`. */
  readonly number: string;
  /** Of a whole disk, `Amazon Elastic Block Store`; empty if unknown. */
  readonly model: string;
  /** Of the file system; empty without one. */
  readonly uuid: string;
  readonly label: string;
  readonly removable: boolean;
  /** Where the kernel has it: `/sys/devices/…/block/sdb`; empty if unknown. */
  readonly sysfs: string;
  /** Links to it that say what it is in a cloud: `/dev/disk/cloud/azure_resource`. */
  readonly links: readonly string[];
  /** The file behind a loop device. */
  readonly backingFile: string | undefined;
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
  /** What /etc/fstab mounts. */
  readonly fstab: readonly FstabEntry[];
  /** The maker of the machine as its firmware says it: `Amazon EC2`; empty if unknown. */
  readonly vendor: string;
  /** Whether systemd is the first process. */
  readonly systemd: boolean;
  /** The kind of container that the host is, in the words of systemd-detect-virt. */
  readonly container: string | undefined;
  /**
   * The host's clock minus the controller's, seconds; 0 if the duration of the request can explain
   * the difference.
   */
  readonly clockOffset: number;
  readonly hostname: string;
}
