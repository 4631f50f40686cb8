import type { Reader } from '../../engine/host/host.ts';
import { withoutQuery } from '../../engine/resource/network/http.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import { archiveName } from '../variables/archive-name.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { postgresVersion } from '../variables/generation.ts';
import type { Storage } from '../variables/s3.ts';
import type { Variables } from '../variables/variables.ts';
import type { Archive } from './archive.ts';
import { archiveProblems } from './archive-problems.ts';
import { askFile } from './ask-file.ts';
import { readDumpHeader } from './dump-header.ts';

/**
 * How much of an archive is read before its download: the header, and usually all of the table of
 * contents. Bytes.
 */
const beginning = 64 * 1024;

/** A restored database, with its indexes, takes this many times the size of its archive. */
const growth = 3;

export type Archives = Readonly<Record<Archive['store'], Archive>>;

/** The folder for the snapshot, and for the tool that restores it, on the database host. */
export function snapshotDirectory({ paths }: Pick<Variables, 'paths'>): string {
  return `${paths.data}/snapshot`;
}

/**
 * The two archives, under the spec's names for each network: the restore tool accepts
 * `.sql.tar.gz` only.
 */
export function archivesOf(vars: Pick<Variables, 'paths' | 'network' | 'snapshot'>): Archives {
  const path = (store: 'state' | 'prover') =>
    `${snapshotDirectory(vars)}/${archiveName(vars.network.kind, store)}`;
  return {
    state: { store: 'state', ...vars.snapshot.state, path: path('state'), table: 'state.l2block' },
    prover: { store: 'prover', ...vars.snapshot.prover, path: path('prover'), table: 'state.nodes' },
  };
}

/**
 * Both archives are the right kind of file, of PostgreSQL 15 and of the same day. Their first
 * bytes, read by a range request, show it before hundreds of gigabytes are downloaded.
 *
 * @param snapshot with the day in the inventory
 */
export function archivesFit({ state, prover }: Archives, { date, s3 }: Variables['snapshot']): Resource {
  return expectation(`snapshot archives are of ${date} and of PostgreSQL ${postgresVersion}`, {
    check: async (host) => {
      const [first, second] = await Promise.all([
        readBeginning(host, state.url, s3),
        readBeginning(host, prover.url, s3),
      ]);
      if (first === noCurl || second === noCurl) return unknownUntil('curl is installed');
      const unreadable = [first, second].filter((answer) => typeof answer === 'string');
      if (unreadable.length > 0) return drift(unreadable.join('; '));
      const header = (answer: Buffer | string) => readDumpHeader(Buffer.from(answer));
      return judge(
        archiveProblems(
          { archive: state, header: header(first) },
          { archive: prover, header: header(second) },
          date,
        ),
      );
    },
    hint: whichArchives,
  });
}

const noCurl = 'no curl';
const whichArchives =
  'correct snapshot.state, snapshot.prover and snapshot.date in the inventory, or its snapshot.manifest and snapshot.from';

function judge(problems: readonly string[]): Verdict {
  return problems.length === 0 ? ok : drift(problems.join('; '));
}

/**
 * Requests the beginning of an archive.
 *
 * @param length bytes
 * @returns the answer, or why it is missing
 */
async function askArchive(host: Reader, url: string, s3: Storage | undefined, length: number) {
  const answer = await askFile(host, url, s3, length);
  if (!answer.answered) return `${withoutQuery(url)}: ${answer.why}`;
  if (answer.status === undefined) return noCurl;
  return answer.status < 400 ? answer : `${withoutQuery(url)} answers HTTP ${answer.status}`;
}

/**
 * @returns the first bytes, or why they are missing
 */
async function readBeginning(host: Reader, url: string, s3: Storage | undefined): Promise<Buffer | string> {
  const answer = await askArchive(host, url, s3, beginning);
  if (typeof answer === 'string') return answer;
  return answer.body.length > 0 ? answer.body : `${withoutQuery(url)}: it is empty`;
}

/** The downloaded archives hold their main tables, by pg_restore's own list. */
export function archivesHoldTheirTables({ state, prover }: Archives): Resource {
  return expectation('snapshot archives hold their tables', {
    check: async (host) => {
      const [client, ...contents] = await Promise.all([
        host.$`command -v pg_restore`,
        readContents(host, state),
        readContents(host, prover),
      ]);
      if (!client.ok) return unknownUntil('the PostgreSQL client is installed');
      if (contents.includes('absent')) return unknownUntil('the archives are downloaded');
      return judge(contents.filter((problem) => problem !== 'fine'));
    },
    hint: whichArchives,
  });
}

/**
 * @returns `fine`, `absent`, or what is wrong
 */
async function readContents(host: Reader, { path, table }: Archive): Promise<string> {
  const [file, list] = await Promise.all([host.stat(path), host.$`pg_restore --list ${path}`]);
  if (!file) return 'absent';
  if (!list.ok) return `${path}: ${list.stderr.trim()}`;
  return list.stdout.includes(` TABLE ${table.replace('.', ' ')} `)
    ? 'fine'
    : `${path} holds no table ${table}`;
}

/**
 * There is room for the archives and for the restored databases, which may have a disk of their
 * own.
 */
export function roomForSnapshot(
  archives: Archives,
  { paths, snapshot }: Pick<Variables, 'paths' | 'snapshot'>,
): Resource {
  const databases = dataFolder({ paths }, 'state-db');
  return expectation('there is room for the snapshot', {
    check: async (host) => {
      const [df, state, prover] = await Promise.all([
        host.$`df -B1 --output=avail,source,fstype,target ${paths.data} ${databases} 2>/dev/null`,
        roomFor(host, archives.state, snapshot.s3),
        roomFor(host, archives.prover, snapshot.s3),
      ]);
      // A folder of the databases that is not there yet will be on the disk of the folder around it.
      const [disk, ofDatabases = disk] = df.lines().slice(1).map(parseDisk);
      if (!disk || !ofDatabases) return unknownUntil(`${paths.data} is there`);
      if (state === noCurl || prover === noCurl) return unknownUntil('curl is installed');
      const unknown = [state, prover].filter((size) => typeof size === 'string');
      // That an archive cannot be downloaded is reported by its own check.
      if (typeof state === 'string' || typeof prover === 'string')
        return unknownUntil(`the sizes of both archives are known (${unknown.join('; ')})`);
      const missing = state.missing + prover.missing;
      const restored = growth * (state.total + prover.total);
      const needs =
        disk.name === ofDatabases.name
          ? [{ path: paths.data, needed: missing + restored, free: disk.free }]
          : [
              { path: paths.data, needed: missing, free: disk.free },
              { path: databases, needed: restored, free: ofDatabases.free },
            ];
      return judge(
        needs
          .filter(({ needed, free }) => needed > free)
          .map(({ path, needed, free }) => `${gigabytes(needed)} needed in ${path}, ${gigabytes(free)} free`),
      );
    },
    hint: 'make room, or put what does not fit on a larger disk: paths.data, or its folder state-db',
  });
}

/**
 * @param line of df: free bytes, device, type, mount point
 * @returns free bytes, and a name: that of the disk or pool where parts of it share its room
 */
function parseDisk(line: string) {
  const [, free, device = '', type, target] = /^ *(\d+) +(\S+) +(\S+) +(.*)$/.exec(line) ?? [];
  const shared = type === 'zfs' ? /^[^/]+/ : /^\/dev\/.*/;
  return { free: Number(free), name: shared.exec(device)?.[0] ?? target };
}

/**
 * @returns the size of an archive, and what of it is not downloaded yet, in bytes; or why it is not
 * known
 */
async function roomFor(
  host: Reader,
  { url, path }: Archive,
  s3: Storage | undefined,
): Promise<{ total: number; missing: number } | string> {
  const [answer, whole, part] = await Promise.all([
    askArchive(host, url, s3, 1),
    host.stat(path),
    // Its blocks: with several connections the partial file has the length of the whole, with
    // holes in it.
    host.$`stat -c '%b %B' ${`${path}.part`} 2>/dev/null`,
  ]);
  if (typeof answer === 'string') return answer;
  const { size: total } = answer;
  if (total === undefined) return `${withoutQuery(url)} does not report its size`;
  const [blocks = 0, size = 0] = part.text().split(' ').map(Number);
  const here = whole?.size ?? Math.min(blocks * size, total);
  return { total, missing: Math.max(0, total - here) };
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
