import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Progress, Reader } from '../../host/host.ts';
import { begun, jobDirectory, runInUnit } from '../job/job.ts';
import { withoutQuery } from '../network/http.ts';
import { type Difference, drift, driftOf, ok, type Resource, type Verdict } from '../resource.ts';
import { downloadScript, mostDownloadConnections, type Source } from './download-script.ts';

/** A file to be fetched by the host itself. */
export interface Download {
  /** @param path where it goes; its directory has to be there */
  to(path: string): Downloaded;
}

interface Downloaded {
  /**
   * Fetches parts of it at the same time, by aria2, which has to be installed for more than one.
   *
   * @param count 1 (as without this) to 16
   */
  connections(count: number): Downloaded;
  /** @param hex what its SHA-256 has to be */
  sha256(hex: string): DownloadResource;
}

export interface DownloadResource extends Resource {
  /** The same work, begun where this stands, to go on beside what comes until the file itself is waited for. */
  readonly startedEarly: Resource;
}

/**
 * A file that the host fetches by HTTP. The work is a systemd unit of its own that outlives the connection, goes on where it broke
 * off, checks the SHA-256 and only then gives the file its name. That it was checked is kept beside it, in PATH.verified, so that
 * hundreds of gigabytes are hashed once.
 */
export function download(url: string): Download {
  return { to: (path) => to({ url, path, connections: 1 }) };
}

function to(place: Omit<Source, 'sha256'>): Downloaded {
  return {
    connections(count) {
      if (!Number.isInteger(count) || count < 1 || count > mostDownloadConnections) {
        throw new RangeError(`${count} is no number of connections from 1 to ${mostDownloadConnections}`);
      }
      return to({ ...place, connections: count });
    },
    sha256: (hex) => make({ ...place, sha256: hex }),
  };
}

function make(source: Source): DownloadResource {
  const { url, path } = source;
  const unit = unitOf(path);
  const work = {
    unit,
    title: `download ${withoutQuery(url)} to ${path}`,
    script: downloadScript(source, `${jobDirectory}/${unit}.status`),
    progress: (reader: Reader) => progressOf(reader, source, unit),
  };
  return {
    name: `${path} is downloaded`,
    startedEarly: begun(`download of ${path} is under way`, work, (host) => look(host, source)),
    check: (host) => look(host, source),
    apply: async (host) => void (await runInUnit(host, work)),
  };
}

async function look(host: Reader, { path, sha256, url }: Source): Promise<Verdict> {
  const [file, proof] = await Promise.all([host.stat(path), host.read(`${path}.verified`)]);
  if (!file) return drift([{ what: 'file', was: 'absent', wanted: withoutQuery(url) }]);
  const differences = proofDifferences(proof?.toString() ?? '', file, sha256);
  return driftOf(differences);
}

/**
 * Whether the note beside a file still speaks of this file and of the wanted content.
 *
 * @param note `SHA256 SIZE MTIME` as the download left it
 */
export function proofDifferences(
  note: string,
  file: { readonly size: number; readonly modified: number },
  sha256: string,
): readonly Difference[] {
  const [hash = '', size, modified] = note.trim().split(' ');
  if (size !== String(file.size) || modified !== String(Math.floor(file.modified))) {
    return [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${sha256}` }];
  }
  return hash === sha256 ? [] : [{ what: 'SHA-256', was: hash, wanted: sha256 }];
}

/** Two files of one name in different directories are two units. */
function unitOf(path: string): string {
  const place = createHash('sha256').update(path).digest('hex').slice(0, 8);
  return `rpc-playbooks-download-${basename(path).replace(/[^A-Za-z0-9_.-]/g, '_')}-${place}`;
}

async function progressOf(host: Reader, { path }: Source, unit: string): Promise<Progress | undefined> {
  const [status, part] = await Promise.all([
    host.read(`${jobDirectory}/${unit}.status`),
    // Blocks: a part that is fetched at several places is soon as long as the whole, with holes in it.
    host.$`stat -c '%b %B' ${`${path}.part`}`,
  ]);
  const [phase, total = ''] = status?.toString().trim().split(' ') ?? [];
  if (phase === 'verifying') return { what: `verifying ${basename(path)}` };
  if (phase !== 'downloading') return undefined;
  const [blocks = 0, size = 0] = part.text().split(' ').map(Number);
  const held = part.ok ? blocks * size : 0;
  const known = /^\d+$/.test(total) ? { done: Math.min(held, Number(total)), total: Number(total) } : { done: held };
  return { what: `downloading ${basename(path)}`, ...known, unit: 'bytes' };
}
