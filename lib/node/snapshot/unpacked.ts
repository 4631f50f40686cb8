import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { bytes } from '../../engine/output/units.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import { withoutQuery } from '../../engine/resource/network/http.ts';
import { drift, expectation, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { withOwnRepository } from '../backup/other-past.ts';
import { dataPlaceFunctions, placesOfCopy } from '../databases/data-place.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { PhysicalManifest } from '../variables/manifest.ts';
import { isOfStorage, type Storage } from '../variables/s3.ts';
import type { PhysicalSnapshot, Variables } from '../variables/variables.ts';
import { askFile, fetching, keysAreThere } from './ask-file.ts';

const read = (name: string) =>
  readFileSync(new URL(`../../../templates/host/${name}.sh`, import.meta.url), 'utf8');
const script = ['claim-databases', 'fetch', 'unpack-snapshot'].map(read).join('\n');

const passwordFile = `${jobDirectory}/snapshot-passwords`;
const keyFile = `${jobDirectory}/storage-pieces`;

/**
 * The data directory of state-db is that of a physical snapshot. A database that is there already
 * is left alone: role snapshot judges it.
 *
 * @param before what else has to be so before the first byte is fetched
 */
export function snapshotIsUnpacked(
  context: Context<Variables>,
  physical: PhysicalSnapshot,
  before: readonly Resource[],
): Resource[] {
  const { vars } = context;
  const unpacked = dataIsUnpacked(vars, physical);
  const { state, prover } = vars.credentials;
  const signed = isOfStorage(physical.folder) ? vars.snapshot.s3 : undefined;
  const passwords = `${state.password.reveal()}\n${prover.password.reveal()}\n`;
  const steps = [
    ...before,
    piecesAreThere(physical, vars.snapshot.s3),
    roomForSnapshot(vars, physical.manifest),
    packages('zstd'),
    directory(jobDirectory).mode(0o700),
    // It is made before each unpacking, and at once: the unpacking would lock all hosts for hours.
    withOwnRepository(context, file(passwordFile).content(secretContent(passwords, /./))),
    ...(signed ? keysAreThere(signed, keyFile) : []),
  ];
  return [...steps.map((resource) => skipWhen(unpacked, resource)), unpacked];
}

function dataIsUnpacked(vars: Variables, { manifest, folder }: PhysicalSnapshot): Resource {
  const data = dataFolder(vars, 'state-db');
  return job(`${data} is the snapshot of ${manifest.date}`, {
    unit: 'rpc-node-unpack',
    script: settingsOf(vars, { manifest, folder }) + dataPlaceFunctions + script,
    done: async (host) => {
      const found = await host.stat(`${data}/PG_VERSION`);
      return found ? ok : drift([{ what: 'database', was: 'absent', wanted: withoutQuery(folder) }]);
    },
    progress: async (host) => {
      const held = await bytesIn(host, placesOfCopy(data), 'unpacking the snapshot');
      return { ...held, done: Math.min(held.done ?? 0, sizeOf(manifest)), total: sizeOf(manifest) };
    },
  });
}

/** The settings of templates/host/unpack-snapshot.sh. */
function settingsOf(vars: Variables, { manifest, folder }: PhysicalSnapshot): string {
  const { state, prover } = vars.credentials;
  const from = fetching(folder, vars.snapshot.s3, keyFile);
  return shellSettings({
    IMAGE: vars.images.database,
    DATA: dataFolder(vars, 'state-db'),
    URL: from.url,
    SHOWN: folder,
    KEYS: from.keys ?? '',
    MANIFEST: vars.snapshot.state.sha256,
    PIECES: manifest.pieces.map(lineOf).join('\n'),
    CONNECTIONS: vars.snapshot.connections,
    PASSWORD_FILE: passwordFile,
    BLOCK: manifest.block,
    HASH: manifest.hash,
    STATE_TABLE: 'state.l2block',
    PROVER_TABLE: 'state.nodes',
    SNAPSHOT: manifest.date,
    SOURCE_USER: manifest.superuser,
    STATE_OID: manifest.state_oid,
    PROVER_OID: manifest.prover_oid,
    PROVER_ROLE_OID: manifest.prover_role_oid,
    STATE_USER: state.user,
    STATE_DATABASE: state.database,
    PROVER_USER: prover.user,
    PROVER_DATABASE: prover.database,
  });
}

/** A piece as the script reads it. */
function lineOf({ file: name, sha256, bytes: size, raw, first, last }: PhysicalManifest['pieces'][number]) {
  const ends = [first?.path ?? '-', first?.at ?? 0, first?.bytes ?? 0, last?.path ?? '-', last?.bytes ?? 0];
  return [name, sha256, size, raw, ...ends].join(' ');
}

const sizeOf = ({ pieces }: PhysicalManifest) => pieces.reduce((sum, { raw }) => sum + raw, 0);

function piecesAreThere(physical: PhysicalSnapshot, s3: Storage | undefined): Resource {
  return expectation('the pieces of the snapshot can be downloaded', {
    check: async (host) => {
      const problems = await wrongPieces(host, physical, s3);
      return problems === '' ? ok : drift(problems);
    },
    hint: checkSnapshot,
  });
}

/** What an operator does where `wrongPieces` finds something. */
export const checkSnapshot = 'check snapshot.manifest and snapshot.from in the inventory';

/**
 * Why the pieces of a snapshot cannot be downloaded, from the host. The first and the last piece
 * are asked for; the others are in their turn.
 *
 * @returns sentences with the address of each piece; empty where both have the sizes of the manifest
 */
export async function wrongPieces(
  host: Reader,
  { manifest: { pieces }, folder }: PhysicalSnapshot,
  s3: Storage | undefined,
): Promise<string> {
  const asked = [...new Set([pieces.at(0), pieces.at(-1)])].filter((each) => each !== undefined);
  const answers = await Promise.all(asked.map(({ file: name }) => askFile(host, folder + name, s3)));
  const problems = answers.flatMap((answer, at) => {
    const { file: name = '', bytes: size } = asked[at] ?? {};
    const url = folder + name;
    if (!answer.answered) return [`${url}: ${answer.why}`];
    if (answer.status === undefined) return [];
    if (answer.status >= 400) return [`${url} answers HTTP ${answer.status}`];
    if (answer.size === undefined || answer.size === size) return [];
    return [`${url} has ${answer.size} bytes, and the manifest says ${size}`];
  });
  return problems.join('; ');
}

/** There is room for the unpacked files, and for two pieces of each connection. */
function roomForSnapshot(vars: Variables, manifest: PhysicalManifest): Resource {
  const data = dataFolder(vars, 'state-db');
  const largest = manifest.pieces.reduce((most, { bytes: size }) => Math.max(most, size), 0);
  // A twentieth for the log that the server replays and writes.
  const needed = Math.ceil(sizeOf(manifest) * 1.05) + 2 * largest * vars.snapshot.connections;
  return expectation('there is room for the snapshot', {
    check: async (host) => {
      const answer = await host.$`sh -c ${`${dataPlaceFunctions}\nroom_for_copy "$1"`} room ${data}`;
      if (!answer.ok) return unknownUntil(`the file system of ${data} can be asked`);
      const free = Number(answer.text());
      return needed <= free
        ? ok
        : drift(`it takes ${bytes(needed)}, and ${bytes(free)} are free on the file system of ${data}`);
    },
    hint: 'make room, or put paths.data on a larger disk',
  });
}
