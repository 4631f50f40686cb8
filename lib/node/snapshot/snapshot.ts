import type { Reader } from '../../engine/host/host.ts';
import { askHttp, withoutQuery } from '../../engine/resource/network/http.ts';
import { drift, expectation, ok, type Resource, unknownUntil, type Verdict } from '../../engine/resource/resource.ts';
import { postgresVersion } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';
import { type DumpHeader, type NotADump, readDumpHeader } from './dump.ts';

/** How much of an archive is read before it is fetched: its header, and its table of contents as far as that goes. Bytes. */
const beginning = 64 * 1024;

/** A restored database takes about as much as its archive unpacked, with indexes: this many times the archive. */
const growth = 3;

/** One archive of a snapshot. */
export interface Archive {
  readonly store: 'state' | 'prover';
  readonly url: string;
  readonly sha256: string;
  /** Where it is put on the database host. */
  readonly path: string;
  /** The table that shows which of the two it is. */
  readonly table: string;
}

export interface Archives {
  readonly state: Archive;
  readonly prover: Archive;
}

/** Where the snapshot, and the tool that restores it, are kept on the database host. */
export function snapshotDirectory({ paths }: Pick<Variables, 'paths'>): string {
  return `${paths.data}/snapshot`;
}

/** The two archives, under the names that the spec gives them for each network: the restore tool insists on `.sql.tar.gz`. */
export function archivesOf(vars: Pick<Variables, 'paths' | 'network' | 'snapshot'>): Archives {
  const prefix = `${snapshotDirectory(vars)}/${vars.network.kind === 'test' ? 'testnet_' : ''}`;
  return {
    state: { store: 'state', ...vars.snapshot.state, path: `${prefix}state_db.sql.tar.gz`, table: 'state.l2block' },
    prover: { store: 'prover', ...vars.snapshot.prover, path: `${prefix}prover_db.sql.tar.gz`, table: 'state.nodes' },
  };
}

/**
 * Both archives have to be what they should be, and of the same day, before hundreds of gigabytes are fetched: their first bytes,
 * asked for by a range request, say so.
 *
 * @param date the day that the inventory names
 */
export function archivesFit({ state, prover }: Archives, date: string): Resource {
  return expectation(
    `snapshot archives are of ${date} and of PostgreSQL ${postgresVersion}`,
    async (host) => {
      const [first, second] = await Promise.all([readBeginning(host, state.url), readBeginning(host, prover.url)]);
      if (first === noCurl || second === noCurl) return unknownUntil('curl is installed');
      const unreadable = [first, second].filter((answer) => typeof answer === 'string');
      if (unreadable.length > 0) return drift(unreadable.join('; '));
      return judge(
        archiveProblems(
          { archive: state, header: asHeader(first) },
          { archive: prover, header: asHeader(second) },
          date,
        ),
      );
    },
    { hint: whichArchives },
  );
}

const noCurl = 'no curl';
const whichArchives = 'put right snapshot.state, snapshot.prover and snapshot.date in the inventory';

function asHeader(answer: Buffer | string): DumpHeader | NotADump {
  return readDumpHeader(Buffer.from(answer));
}

function judge(problems: readonly string[]): Verdict {
  return problems.length === 0 ? ok : drift(problems.join('; '));
}

/** What the server answers of an archive. @param length bytes of its beginning. @returns in words why there is no answer */
async function askArchive(host: Reader, url: string, length: number) {
  const answer = await askHttp(host, url, { length, seconds: 30 });
  if (!answer.answered) return `${withoutQuery(url)}: ${answer.why}`;
  if (answer.status === undefined) return noCurl;
  return answer.status < 400 ? answer : `${withoutQuery(url)} answers HTTP ${answer.status}`;
}

/** @returns the first bytes; or in words why there are none */
async function readBeginning(host: Reader, url: string): Promise<Buffer | string> {
  const answer = await askArchive(host, url, beginning);
  if (typeof answer === 'string') return answer;
  return answer.body.length > 0 ? answer.body : `${withoutQuery(url)}: it is empty`;
}

interface Opened {
  readonly archive: Archive;
  readonly header: DumpHeader | NotADump;
}

/** What is wrong with two archives by their beginnings; nothing when they fit each other and the inventory. */
export function archiveProblems(state: Opened, prover: Opened, date: string): readonly string[] {
  const [first, second] = [state.header, prover.header];
  if (first.format === 'other' || second.format === 'other') {
    return [state, prover].flatMap(({ archive, header }) =>
      header.format === 'other'
        ? [
            `${withoutQuery(archive.url)} is ${header.description}; the restore tool takes PostgreSQL dumps in the custom format`,
          ]
        : [],
    );
  }
  if (first.tables.includes(prover.archive.table) && second.tables.includes(state.archive.table)) {
    return [
      `the two archives are swapped: the state archive holds ${prover.archive.table} (database ${first.database})`,
    ];
  }
  return [
    ...tableProblems(state.archive, first),
    ...tableProblems(prover.archive, second),
    ...[state, prover].flatMap(({ archive, header }) =>
      header.format === 'custom' ? versionProblems(archive, header) : [],
    ),
    ...dayProblems(first.date, second.date, date),
  ];
}

function tableProblems(archive: Archive, header: DumpHeader): string[] {
  if (!header.complete || header.tables.includes(archive.table)) return [];
  return [`${withoutQuery(archive.url)} holds no table ${archive.table} (it is of database ${header.database})`];
}

function versionProblems({ url }: Archive, { serverMajor, dumpMajor }: DumpHeader): string[] {
  if (serverMajor === postgresVersion && dumpMajor === postgresVersion) return [];
  return [
    `${withoutQuery(url)} was made from PostgreSQL ${serverMajor} by pg_dump ${dumpMajor}, and both have to be ${postgresVersion}`,
  ];
}

function dayProblems(state: string, prover: string, date: string): string[] {
  if (state !== prover) return [`the archives are of different days: state of ${state}, prover of ${prover}`];
  return state === date ? [] : [`the archives are of ${state}, and the inventory says ${date}`];
}

/** What pg_restore itself lists as the fetched archives' contents has to be what their names say. */
export function archivesHoldTheirTables({ state, prover }: Archives): Resource {
  return expectation(
    'snapshot archives hold what their names say',
    async (host) => {
      const [client, ...contents] = await Promise.all([
        host.$`command -v pg_restore`,
        readContents(host, state),
        readContents(host, prover),
      ]);
      if (!client.ok) return unknownUntil('the PostgreSQL client is installed');
      if (contents.includes('absent')) return unknownUntil('the archives are downloaded');
      return judge(contents.filter((problem) => problem !== 'fine'));
    },
    { hint: whichArchives },
  );
}

/** @returns `fine`, `absent`, or what is wrong, in words */
async function readContents(host: Reader, { path, table }: Archive): Promise<string> {
  const [file, list] = await Promise.all([host.stat(path), host.$`pg_restore --list ${path}`]);
  if (!file) return 'absent';
  if (!list.ok) return `${path}: ${list.stderr.trim()}`;
  return list.stdout.includes(` TABLE ${table.replace('.', ' ')} `) ? 'fine' : `${path} holds no table ${table}`;
}

/** There has to be room for the archives and for what they unpack to. */
export function roomForSnapshot(archives: Archives, directory: string): Resource {
  return expectation(
    'there is room for the snapshot',
    async (host) => {
      const [free, state, prover] = await Promise.all([
        host.$`df -B1 --output=avail ${directory} 2>/dev/null | tail -n 1`,
        readSizes(host, archives.state),
        readSizes(host, archives.prover),
      ]);
      if (free.text() === '') return unknownUntil(`${directory} is there`);
      if (state === noCurl || prover === noCurl) return unknownUntil('curl is installed');
      const unknown = [state, prover].filter((size) => typeof size === 'string');
      // No lack of room: that the archives cannot be had is told by itself.
      if (unknown.length > 0) return unknownUntil(`both archives tell their size (${unknown.join('; ')})`);
      const needed = [state, prover].reduce((sum, size) => sum + (typeof size === 'string' ? 0 : bytesNeeded(size)), 0);
      return needed <= Number(free.text())
        ? ok
        : drift(`${gigabytes(needed)} needed in ${directory}, ${gigabytes(Number(free.text()))} free`);
    },
    { hint: 'make room, or put paths.data on a larger disk' },
  );
}

interface Sizes {
  /** Of the archive where it comes from. */
  readonly total: number;
  /** Of what is here of it already. */
  readonly here: number;
}

/** Room for what is still to be fetched, and for the database. */
export function bytesNeeded({ total, here }: Sizes): number {
  return Math.max(0, total - here) + growth * total;
}

async function readSizes(host: Reader, { url, path }: Archive): Promise<Sizes | string> {
  const [answer, whole, part] = await Promise.all([
    askArchive(host, url, 1),
    host.stat(path),
    // Its blocks: a part that is fetched at several places at the same time is as long as the whole, with holes in it.
    host.$`stat -c '%b %B' ${`${path}.part`} 2>/dev/null`,
  ]);
  if (typeof answer === 'string') return answer;
  const { size: total } = answer;
  if (total === undefined) return `${withoutQuery(url)} does not tell its size`;
  const [blocks = 0, size = 0] = part.text().split(' ').map(Number);
  return { total, here: whole?.size ?? Math.min(blocks * size, total) };
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
