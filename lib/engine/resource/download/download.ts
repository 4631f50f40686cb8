import { basename } from 'node:path';
import type { Progress, Reader } from '../../host/host.ts';
import { sha256Of } from '../file/content.ts';
import { jobDirectory, runInUnit, startedEarly } from '../job/job.ts';
import { withoutQuery } from '../network/http.ts';
import { drift, driftOf, type Resource, type Verdict, type Work } from '../resource.ts';
import { refuseUnknownSettings } from '../settings.ts';
import { downloadScript, mostDownloadConnections, type Source } from './download-script.ts';

export interface DownloadResource extends Work {
  /** Starts the same work, which continues in the background until the download itself is due. */
  readonly startedEarly: Resource;
}

/**
 * A file that the host downloads by HTTP into an existing directory. The work is a systemd unit
 * that outlives the connection, continues where it stopped, checks the SHA-256 and only then puts
 * the file in place. PATH.verified keeps the result of the check, so that hundreds of gigabytes
 * are hashed once. A folder in which another user than root can change names is refused.
 *
 * @param connections 1 to 16: as many ranges of the file are fetched at the same time
 * @example download({ url: 'https://example.org/tool', path: '/usr/local/bin/tool', sha256: '9f86d0…' })
 */
export function download({
  connections = 1,
  ...file
}: Omit<Source, 'connections'> & Partial<Pick<Source, 'connections'>>): DownloadResource {
  if (!Number.isInteger(connections) || connections < 1 || connections > mostDownloadConnections) {
    throw new RangeError(`${connections} is no number of connections from 1 to ${mostDownloadConnections}`);
  }
  const source = { ...file, connections };
  const { url, path, sha256 } = source;
  refuseUnknownSettings(`download to ${path}`, file, {
    url: true,
    shown: true,
    path: true,
    sha256: true,
    keys: true,
  });
  if (!/^[0-9a-f]{64}$/i.test(sha256))
    throw new TypeError(`download to ${path}: sha256 is not a SHA-256, which has 64 hexadecimal digits`);
  // Files of one name in different directories have different units.
  const place = sha256Of(path).slice(0, 8);
  const unit = `rpc-playbooks-download-${basename(path).replace(/[^A-Za-z0-9_.-]/g, '_')}-${place}`;
  const status = `${jobDirectory}/${unit}.status`;
  const work = {
    unit,
    title: `download ${withoutQuery(url)} to ${path}`,
    script: downloadScript(source, status),
    progress: (host: Reader) => progressOf(host, path, status),
  };
  const check = (host: Reader) => checkFile(host, source);
  return {
    name: `${path} is downloaded`,
    startedEarly: startedEarly(`download of ${path} is under way`, work, check),
    check,
    work: async (host) => void (await runInUnit(host, work)),
  };
}

async function checkFile(host: Reader, { path, sha256, url }: Source): Promise<Verdict> {
  const [file, proof] = await Promise.all([host.stat(path), host.read(`${path}.verified`)]);
  if (!file) return drift([{ what: 'file', was: 'absent', wanted: withoutQuery(url) }]);
  return driftOf(proofDifferences(proof?.toString() ?? '', file, sha256));
}

/**
 * Whether the note beside a file is about this file and the wanted content.
 *
 * @param note `SHA256 SIZE MTIME`, by the download
 */
function proofDifferences(
  note: string,
  file: { readonly size: number; readonly modified: number },
  sha256: string,
) {
  const [hash = '', size, modified] = note.trim().split(' ');
  if (size !== String(file.size) || modified !== String(Math.floor(file.modified))) {
    return [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${sha256}` }];
  }
  return hash === sha256 ? [] : [{ what: 'SHA-256', was: hash, wanted: sha256 }];
}

async function progressOf(host: Reader, path: string, statusPath: string): Promise<Progress | undefined> {
  const [status, part] = await Promise.all([
    host.read(statusPath),
    // Blocks: a partial file that is fetched at several places soon has its full length, with
    // holes in it.
    host.$`stat -c '%b %B' ${`${path}.part`}`,
  ]);
  const [phase, total = ''] = status?.toString().trim().split(' ') ?? [];
  if (phase === 'verifying') return { what: `verifying ${basename(path)}` };
  if (phase !== 'downloading') return undefined;
  const [blocks = 0, size = 0] = part.text().split(' ').map(Number);
  const held = part.ok ? blocks * size : 0;
  const known = /^\d+$/.test(total)
    ? { done: Math.min(held, Number(total)), total: Number(total) }
    : { done: held };
  return { what: `downloading ${basename(path)}`, ...known, unit: 'bytes' };
}
