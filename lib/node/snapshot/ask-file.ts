import type { Reader } from '../../engine/host/host.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { jobDirectory } from '../../engine/resource/job/job.ts';
import { askHttp, type HttpAnswer } from '../../engine/resource/network/http.ts';
import { askStorage } from '../../engine/resource/network/storage.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { isOfStorage, type Storage, signing, webAddress } from '../variables/s3.ts';

/** Keys for the downloads of both archives. */
export const keysOfArchives = `${jobDirectory}/storage-archives`;

/** Of one request. Seconds. */
const limit = 30;

/**
 * Asks for the first bytes of a file of a snapshot, from the host.
 *
 * @param address of a web server, or `s3://bucket/name`
 * @param length bytes
 */
export function askFile(
  host: Reader,
  address: string,
  storage: Storage | undefined,
  length = 1,
): Promise<HttpAnswer> {
  if (!storage || !isOfStorage(address)) return askHttp(host, address, { length, seconds: limit });
  const stored = { url: webAddress(address, storage), shown: address, signing: signing(storage) };
  return askStorage(host, stored, length, limit);
}

/** How a script on the host names and signs what it fetches from an address. */
export function fetching(address: string, storage: Storage | undefined, keys: string) {
  if (!storage || !isOfStorage(address)) return { url: address };
  return { url: webAddress(address, storage), shown: address, keys };
}

/** The keys of a storage are in a file on the host, in memory and for root alone. */
export function keysAreThere(storage: Storage, path: string): Resource[] {
  return [
    directory(jobDirectory).mode(0o700),
    file(path).content(secretContent(signing(storage).reveal(), /^(user|header) =/)),
  ];
}
