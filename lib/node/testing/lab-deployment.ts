import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { type Changes, writeLabDeployment } from './written-lab-deployment.ts';

export type { Changes };

/**
 * The files of `writeLabDeployment`, in a folder that is removed when the test ends.
 *
 * @returns the path of the inventory there
 */
export async function labDeployment(changes: Changes = []): Promise<string> {
  return writeLabDeployment(temporaryDirectory(), changes);
}
