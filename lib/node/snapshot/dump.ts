/**
 * What the beginning of a snapshot archive tells. The archives are PostgreSQL custom-format dumps (in spite of their names): they
 * begin with a header (creation time, database, versions) and a table of contents, so a few KiB prove what is in hundreds of GiB.
 */
export interface DumpHeader {
  readonly format: 'custom';
  /** Of the archive format: `1.14` is PostgreSQL 12 to 15. */
  readonly version: string;
  /** Day on which it was made, YYYY-MM-DD, by the clock of the machine that made it. */
  readonly date: string;
  readonly database: string;
  /** Major version of the server that was dumped. */
  readonly serverMajor: number;
  /** Major version of the pg_dump that made it. */
  readonly dumpMajor: number;
  /** Tables named so far, as `schema.table`. */
  readonly tables: readonly string[];
  /** Whether the bytes held the whole table of contents, so that a table not named is a table not there. */
  readonly complete: boolean;
}

/** Something else: what it is, as an operator would say it. */
export interface NotADump {
  readonly format: 'other';
  readonly description: string;
}

/** Kinds of other files, by how they begin. */
const signatures: readonly (readonly [description: string, test: (bytes: Buffer) => boolean])[] = [
  ['empty', (bytes) => bytes.length === 0],
  ['a gzip file (a real .tar.gz)', (bytes) => bytes.subarray(0, 2).equals(Buffer.from([0x1f, 0x8b]))],
  ['a zip file', (bytes) => bytes.subarray(0, 4).equals(Buffer.from('PK\x03\x04', 'latin1'))],
  ['a zstd file', (bytes) => bytes.subarray(0, 4).equals(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]))],
  ['an xz file', (bytes) => bytes.subarray(0, 6).equals(Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]))],
  ['a tar file', (bytes) => bytes.subarray(257, 262).toString('latin1') === 'ustar'],
  ['a web page (HTML)', (bytes) => /^\s*(<!doctype html|<html|<head)/i.test(bytes.subarray(0, 256).toString('latin1'))],
  ['an XML document (often an error of the file store)', (bytes) => /^\s*<\?xml/.test(bytes.toString('latin1', 0, 64))],
  ['JSON', (bytes) => /^\s*[{[]/.test(bytes.toString('latin1', 0, 64))],
  [
    'a plain SQL script',
    (bytes) => /PostgreSQL database dump|^\s*(SET|CREATE|--)/m.test(bytes.toString('latin1', 0, 512)),
  ],
];

/** Minor version of the archive format whose table of contents is laid out as read here: PostgreSQL 12 to 15 write it. */
const tocMinor = 14;

/** Thrown inside when the bytes end before the archive's own structure does. */
class EndOfBytes extends Error {}

/** Reads the archive's own integers and strings. An integer is a sign byte and `intSize` bytes, the lowest first. */
function archiveReader(bytes: Buffer, start: number) {
  let at = start;
  let intSize = 4;
  const byte = () => {
    const value = bytes[at];
    if (value === undefined) throw new EndOfBytes();
    at += 1;
    return value;
  };
  const skip = (count: number) => {
    if (at + count > bytes.length) throw new EndOfBytes();
    at += count;
  };
  const int = () => {
    const negative = byte() !== 0;
    let value = 0;
    for (let place = 0; place < intSize; place += 1) value += byte() * 2 ** (8 * place);
    return negative ? -value : value;
  };
  const text = () => {
    const length = int();
    if (length < 0) return undefined;
    const from = at;
    skip(length);
    return bytes.toString('utf8', from, from + length);
  };
  return { byte, skip, int, text, setIntSize: (size: number) => (intSize = size) };
}

type ArchiveReader = ReturnType<typeof archiveReader>;

/**
 * Reads the beginning of an archive.
 *
 * @param bytes its first KiB; the more there are, the more tables are named
 * @returns the header, or what the file is instead
 */
export function readDumpHeader(bytes: Buffer): DumpHeader | NotADump {
  if (bytes.toString('latin1', 0, 5) !== 'PGDMP') return { format: 'other', description: describeOther(bytes) };
  const archive = archiveReader(bytes, 5);
  try {
    const major = archive.byte();
    const minor = archive.byte();
    archive.byte();
    archive.setIntSize(archive.byte());
    const offsetSize = archive.byte();
    if (archive.byte() !== 1)
      return { format: 'other', description: 'a PostgreSQL dump in another than the custom format' };
    // From 1.15 on (PostgreSQL 16) the compression is one byte that names the algorithm.
    if (minor >= 15) archive.byte();
    else archive.int();
    const date = readDate(archive);
    const database = archive.text() ?? '';
    const serverMajor = Number.parseInt(archive.text() ?? '', 10);
    const dumpMajor = Number.parseInt(archive.text() ?? '', 10);
    const contents = minor === tocMinor ? readTables(archive, offsetSize) : { tables: [], complete: false };
    return { format: 'custom', version: `${major}.${minor}`, date, database, serverMajor, dumpMajor, ...contents };
  } catch (error) {
    if (error instanceof EndOfBytes)
      return { format: 'other', description: 'a PostgreSQL dump that breaks off in its header' };
    throw error;
  }
}

function describeOther(bytes: Buffer): string {
  return (
    signatures.find(([, test]) => test(bytes))?.[0] ??
    `an unknown kind of file (it begins with ${bytes.toString('hex', 0, 8)})`
  );
}

/** Seconds, minutes, hours, day, month from 0, year from 1900, daylight saving: as C's `struct tm` has them. */
function readDate(archive: ArchiveReader): string {
  for (let skipped = 0; skipped < 3; skipped += 1) archive.int();
  const day = archive.int();
  const month = archive.int() + 1;
  const year = archive.int() + 1900;
  archive.int();
  return [String(year).padStart(4, '0'), ...[month, day].map((part) => String(part).padStart(2, '0'))].join('-');
}

/** Goes through the table of contents as far as the bytes reach. */
function readTables(archive: ArchiveReader, offsetSize: number): Pick<DumpHeader, 'tables' | 'complete'> {
  const tables: string[] = [];
  try {
    const entries = archive.int();
    for (let entry = 0; entry < entries; entry += 1) {
      const { kind, namespace, name } = readEntry(archive, offsetSize);
      if (kind === 'TABLE') tables.push(`${namespace}.${name}`);
    }
    return { tables, complete: true };
  } catch (error) {
    if (error instanceof EndOfBytes) return { tables, complete: false };
    throw error;
  }
}

function readEntry(archive: ArchiveReader, offsetSize: number) {
  archive.int(); // number of the entry
  archive.int(); // whether it carries data
  archive.text(); // catalogue and object id
  archive.text();
  const name = archive.text();
  const kind = archive.text();
  archive.int(); // section
  for (let statement = 0; statement < 3; statement += 1) archive.text(); // create, drop, copy
  const namespace = archive.text();
  archive.text(); // tablespace
  archive.text(); // access method
  archive.text(); // owner
  archive.text(); // with oids
  while (archive.text() !== undefined); // what it depends on
  archive.skip(1 + offsetSize); // where its data is
  return { kind, namespace, name };
}
