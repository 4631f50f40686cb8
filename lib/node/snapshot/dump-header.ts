/**
 * The beginning of a snapshot archive. The archives are PostgreSQL custom-format dumps, in spite
 * of their names: they begin with a header (creation time, database, versions) and a table of
 * contents, so a few KiB prove what is in hundreds of GiB. `pg_restore --list` would need all of
 * the table of contents, and would parse, as root, what has no verified SHA-256 yet.
 */
export interface DumpHeader {
  readonly format: 'custom';
  /** Day on which it was made, YYYY-MM-DD, by the clock of the machine that made it. */
  readonly date: string;
  readonly database: string;
  /** Major version of the server that was dumped. */
  readonly serverMajor: number;
  /** Major version of the pg_dump that made it. */
  readonly dumpMajor: number;
  /** Tables named so far, as `schema.table`. */
  readonly tables: readonly string[];
  /**
   * Whether the bytes held the whole table of contents, so that a table that is not named is not
   * there.
   */
  readonly complete: boolean;
}

/** A file of another kind, in words. */
export interface NotADump {
  readonly format: 'other';
  readonly description: string;
}

const startsWith = (hex: string) => (bytes: Buffer) => bytes.toString('hex', 0, hex.length / 2) === hex;
const matches = (pattern: RegExp) => (bytes: Buffer) => pattern.test(bytes.toString('latin1', 0, 512));

/** Kinds of other files, by how they begin. */
const signatures: readonly (readonly [description: string, test: (bytes: Buffer) => boolean])[] = [
  ['empty', (bytes) => bytes.length === 0],
  ['a gzip file (a real .tar.gz)', startsWith('1f8b')],
  ['a zip file', startsWith('504b0304')],
  ['a zstd file', startsWith('28b52ffd')],
  ['an xz file', startsWith('fd377a585a00')],
  ['a tar file', matches(/^.{257}ustar/s)],
  ['a web page (HTML)', matches(/^\s*(<!doctype html|<html|<head)/i)],
  ['an XML document (often an error of the file store)', matches(/^\s*<\?xml/)],
  ['JSON', matches(/^\s*[{[]/)],
  ['a plain SQL script', matches(/PostgreSQL database dump|^\s*(SET|CREATE|--)/m)],
];

/**
 * Minor version of the archive format that PostgreSQL 12 to 15 write; the table of contents is
 * read of this one.
 */
const tocMinor = 14;

/**
 * Reads an archive's own integers and strings. All methods throw a RangeError where the bytes end.
 */
class ArchiveReader {
  /** Size of an integer without its sign, bytes. */
  intSize = 4;
  private at = 'PGDMP'.length;
  private readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /**
   * @returns the position before the skipped bytes
   */
  skip(count: number): number {
    const from = this.at;
    if (from + count > this.bytes.length) throw new RangeError('the bytes end');
    this.at += count;
    return from;
  }

  byte(): number {
    return this.bytes.readUInt8(this.skip(1));
  }

  /** A sign byte, and the bytes of the number, the lowest first. */
  int(): number {
    const sign = this.byte() === 0 ? 1 : -1;
    let value = 0;
    for (let place = 0; place < this.intSize; place += 1) value += this.byte() * 2 ** (8 * place);
    return sign * value;
  }

  /** A string after its length; undefined for NULL. */
  text(): string | undefined {
    const length = this.int();
    if (length < 0) return undefined;
    const from = this.skip(length);
    return this.bytes.toString('utf8', from, from + length);
  }
}

/**
 * Reads the beginning of an archive.
 *
 * @param bytes its first KiB; the more there are, the more tables are named
 * @returns the header, or the kind of file that it is instead
 */
export function readDumpHeader(bytes: Buffer): DumpHeader | NotADump {
  if (!startsWith('5047444d50')(bytes)) {
    const [known] = signatures.find(([, test]) => test(bytes)) ?? [];
    const unknown = `an unknown kind of file (it begins with ${bytes.toString('hex', 0, 8)})`;
    return { format: 'other', description: known ?? unknown };
  }
  return (
    untilTheEnd(() => readHeader(new ArchiveReader(bytes))) ?? {
      format: 'other',
      description: 'a PostgreSQL dump that ends within its header',
    }
  );
}

function readHeader(archive: ArchiveReader): DumpHeader | NotADump {
  const [, minor] = [archive.byte(), archive.byte(), archive.byte()];
  archive.intSize = archive.byte();
  const offsetSize = archive.byte();
  if (archive.byte() !== 1)
    return { format: 'other', description: 'a PostgreSQL dump in another than the custom format' };
  // From 1.15 on (PostgreSQL 16) the compression is one byte that names the algorithm.
  if (minor >= 15) archive.byte();
  else archive.int();
  // As in C's `struct tm`: the month counts from 0, the year from 1900.
  const [, , , day = 0, month = 0, year = 0] = Array.from({ length: 7 }, () => archive.int());
  const date = `${1900 + year}-${pad(month + 1)}-${pad(day)}`;
  const database = archive.text() ?? '';
  const serverMajor = Number.parseInt(archive.text() ?? '', 10);
  const dumpMajor = Number.parseInt(archive.text() ?? '', 10);
  const tables: string[] = [];
  const complete = minor === tocMinor && untilTheEnd(() => readTables(archive, offsetSize, tables)) === true;
  return { format: 'custom', date, database, serverMajor, dumpMajor, tables, complete };
}

/** Adds the tables of the table of contents, as far as the bytes reach. */
function readTables(archive: ArchiveReader, offsetSize: number, tables: string[]): true {
  const entries = archive.int();
  for (let entry = 0; entry < entries; entry += 1) {
    // Number of the entry, and whether it has data.
    archive.int();
    archive.int();
    const [, , name, kind] = [archive.text(), archive.text(), archive.text(), archive.text()];
    // Section.
    archive.int();
    // CREATE, DROP and COPY statement, schema; then tablespace, access method, owner, OIDs.
    const [, , , schema] = Array.from({ length: 8 }, () => archive.text());
    while (archive.text() !== undefined); // dependencies
    archive.skip(1 + offsetSize); // where the data is
    if (kind === 'TABLE') tables.push(`${schema}.${name}`);
  }
  return true;
}

/**
 * @returns undefined where the bytes end first
 */
function untilTheEnd<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const pad = (part: number): string => String(part).padStart(2, '0');
