import type { Reader } from '../../host/host.ts';
import { unknownUntil, type Verdict } from '../resource.ts';

/** Why the Docker engine cannot be queried yet; undefined if it runs. */
export async function untilDockerRuns(host: Reader): Promise<Verdict | undefined> {
  const unit = await host.unit('docker.service');
  if (unit.load === 'not-found') return unknownUntil('docker is installed');
  return unit.active === 'active' ? undefined : unknownUntil('docker is running');
}
