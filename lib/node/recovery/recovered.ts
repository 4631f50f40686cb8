import type { Reader } from '../../engine/host/host.ts';
import { markIn } from './paths.ts';

/** Whether a data directory is as the databases were at a time. */
export async function isRecovered(host: Reader, folder: string, time: string): Promise<boolean> {
  return (await host.read(markIn(folder)))?.toString().trim() === time;
}
