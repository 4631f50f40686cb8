import type { Reader } from '../../host/host.ts';
import { unknownUntil, type Verdict } from '../resource.ts';

/** Why the Docker engine cannot be queried yet; undefined if it runs. */
export async function untilDockerRuns(host: Reader): Promise<Verdict | undefined> {
  const unit = await host.unit('docker.service');
  if (unit.load === 'not-found') return unknownUntil('docker is installed');
  return unit.active === 'active' ? undefined : unknownUntil('docker is running');
}

/** What a running Docker engine says of itself. */
export interface EngineInfo {
  /** Whether containers outlive the engine (live-restore). */
  readonly keepsContainers: boolean;
  readonly isSwarm: boolean;
  /** Whether it has neither images nor containers. */
  readonly isEmpty: boolean;
  /** The state of its storage driver, as it shows it. */
  readonly storage: string;
  /** The folder of its data. */
  readonly root: string;
  /** Where the file system of this folder is mounted; undefined if the folder cannot be reached. */
  readonly disk: string | undefined;
}

const format = `{{.LiveRestoreEnabled}} {{.Swarm.LocalNodeState}}
{{.Images}} {{.Containers}} {{.DriverStatus}}
{{.DockerRootDir}}`;

/**
 * Asks the engine of the host, by a command that all who ask share.
 *
 * @returns undefined if it does not run, or does not answer
 */
export async function engineInfo(host: Reader): Promise<EngineInfo | undefined> {
  // A stopped engine is not asked: its socket would start it.
  const said =
    await host.$`systemctl is-active --quiet docker.service && i=$(docker info --format ${format}) && echo "$i" && stat --format %m -- "$(echo "$i" | tail -n 1)"`;
  const [state, stored, root, disk] = said.lines();
  if (state === undefined || stored === undefined || root === undefined) return undefined;
  const [keeps, swarm] = state.split(' ');
  const [images, containers, ...driver] = stored.split(' ');
  return {
    keepsContainers: keeps === 'true',
    isSwarm: swarm !== 'inactive',
    isEmpty: images === '0' && containers === '0',
    storage: driver.join(' '),
    root,
    disk,
  };
}
