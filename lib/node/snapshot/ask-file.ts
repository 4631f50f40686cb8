import { fileURLToPath } from 'node:url';
import type { Reader } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { jobDirectory } from '../../engine/resource/job/job.ts';
import { askHttp, type HttpAnswer } from '../../engine/resource/network/http.ts';
import { askStorage } from '../../engine/resource/network/storage.ts';
import {
  drift,
  ok,
  type Resource,
  task,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { isOfStorage, type Storage, signing, webAddress } from '../variables/s3.ts';

/** Keys for the downloads of both archives. */
export const keysOfArchives = `${jobDirectory}/storage-archives`;

/** Of one request. Seconds. */
const limit = 30;

/**
 * Asks for the first bytes of a file of a snapshot, from the host.
 *
 * @param address of a web server, `s3://bucket/name`, or `file:///path` on the host
 * @param length bytes
 */
export function askFile(
  host: Reader,
  address: string,
  storage: Storage | undefined,
  length = 1,
): Promise<HttpAnswer> {
  if (isOnHost(address)) return readHere(host, address, length);
  if (!storage || !isOfStorage(address)) return askHttp(host, address, { length, seconds: limit });
  const stored = { url: webAddress(address, storage), shown: address, signing: signing(storage) };
  return askStorage(host, stored, length, limit);
}

/** Whether an address is of a file on the host that asks. */
export const isOnHost = (address: string) => address.startsWith('file:');

async function readHere(host: Reader, address: string, length: number): Promise<HttpAnswer> {
  const path = fileURLToPath(address);
  // A share may hang.
  const output = await host.$({ timeoutSeconds: limit })`stat -L -c %s ${path} && head -c ${length} ${path}`;
  if (output.timedOut) return { answered: false, why: `no answer within ${limit} s` };
  if (!output.ok) return { answered: false, why: output.stderr.trim().replace(/^.*: /, '') };
  const end = output.bytes.indexOf('\n');
  const size = Number(output.bytes.subarray(0, end).toString());
  return { answered: true, status: 200, size, body: output.bytes.subarray(end + 1) };
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

/**
 * The keys of a storage are on the host until what needs them is done, and not after that.
 *
 * @param needing what needs them, such as downloads
 * @param addresses that are fetched; no keys are needed where none is of the storage
 * @returns what has to be before it, and what needs them with their removal after it
 */
export function keysUntil(
  storage: Storage | undefined,
  path: string,
  needing: readonly Resource[],
  addresses: readonly string[],
): { readonly before: Resource[]; readonly needing: readonly Resource[] } {
  if (!storage || !addresses.some(isOfStorage)) return { before: [], needing };
  const done = {
    check: async (host: Reader): Promise<Verdict> => {
      const verdicts = await Promise.all(needing.map((each) => each.check(host)));
      return verdicts.find(({ is }) => is !== 'ok') ?? ok;
    },
  };
  const after = task('no keys of the storage are left on the host', {
    check: async (host) => {
      const [verdict, left] = await Promise.all([done.check(host), host.stat(path)]);
      if (verdict.is !== 'ok') return unknownUntil('what needs them is done');
      return left ? drift(`${path} is there`, [command`rm -f ${path}`]) : ok;
    },
  });
  const before = keysAreThere(storage, path).map((each) => skipWhen(done, each));
  return { before, needing: [...needing, after] };
}
