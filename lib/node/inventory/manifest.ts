import * as z from 'zod';
import { hintOfUnread, readBounded, UnfitFile } from '../../engine/file/bounded-file.ts';
import { pathBeside } from '../../engine/file/private-file.ts';
import { shown } from '../../engine/file/shown-path.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { withoutQuery } from '../../engine/resource/network/http.ts';
import { askStorageFromHere } from '../../engine/resource/network/storage.ts';
import { keysOf } from '../../engine/text/keys.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { archiveName } from '../variables/archive-name.ts';
import { postgresVersion } from '../variables/generation.ts';
import {
  type Manifest,
  manifestSchema,
  type PhysicalManifest,
  physicalManifestSchema,
  whyOtherChain,
} from '../variables/manifest.ts';
import { isOfStorage, type Storage, signing, webAddress } from '../variables/s3.ts';
import type { RawVariables, SnapshotFiles } from '../variables/variables.ts';
import { readStorage } from './storage.ts';

/** That of a physical snapshot has some hundred bytes for each GiB. */
const longest = 16 * 1024 ** 2;
/** Of the request for one. Milliseconds. */
const patience = 20_000;

/**
 * The archives of each host's snapshot, those of a manifest included. A manifest that several
 * hosts name is read once.
 *
 * @param problems where all that is wrong is added
 * @returns in the order of the hosts; undefined for one with a problem
 */
export async function snapshotFiles(
  inventory: LoadedInventory<RawVariables>,
  problems: Problem[],
): Promise<readonly (SnapshotFiles | undefined)[]> {
  const texts = new Map<string, Promise<string>>();
  return Promise.all(inventory.hosts.map((host) => filesOf(inventory, host, texts, problems)));
}

async function filesOf(
  inventory: LoadedInventory<RawVariables>,
  host: InventoryHost<RawVariables>,
  texts: Map<string, Promise<string>>,
  problems: Problem[],
): Promise<SnapshotFiles | undefined> {
  const { snapshot, network } = host.vars;
  const { manifest, from, state, prover, date } = snapshot;
  const s3 = await readStorage(inventory, host, 'snapshot', problems);
  const kept = s3 && { s3 };
  if (manifest === undefined)
    return state && prover && date !== undefined ? { state, prover, date, ...kept } : undefined;
  // readStorage has reported the fault of the keys.
  if (isOfStorage(manifest) && !s3) return undefined;
  const where = inventory.placeOf(host.name, ['snapshot', 'manifest']);
  const isRemote = isAddress(manifest);
  const source = isRemote ? manifest : pathBeside(where.file, manifest);
  const text = texts.get(source) ?? read(source, s3);
  texts.set(source, text);
  const found = await text.then(parse).catch((error: Error) => error);
  const why = found instanceof Error ? found.message : whyUnfit(found, snapshot, network);
  if (found instanceof Error || why !== '') {
    const what = `snapshot.manifest: ${isRemote ? withoutQuery(source) : shown(source)} ${why}`;
    const known = problems.some(
      ({ message, where: other }) => message === what && other?.line === where.line,
    );
    const usual =
      'it is the manifest.json that playbooks/snapshot.mjs writes; a copy beside the inventory lasts';
    const hint = hintOfUnread(found) ?? usual;
    if (!known) problems.push(new Problem(what, { where, hint }));
    return undefined;
  }
  const folder =
    from === undefined
      ? new URL('.', source)
      : new URL((from.startsWith('/') ? 'file://' : '') + from.replace(/\/*$/, '/'));
  return { ...filesIn(found, folder, await text), ...kept };
}

/**
 * @param folder of the files
 * @param text of the manifest
 */
function filesIn(found: Found, folder: URL, text: string): SnapshotFiles {
  if ('pieces' in found) {
    const whole = { url: folder.href, sha256: sha256Of(text) };
    const physical = { manifest: found, folder: folder.href };
    return { state: whole, prover: whole, date: found.date, physical };
  }
  const archive = ({ file, sha256 }: Manifest['state']) => ({ url: new URL(file, folder).href, sha256 });
  return { state: archive(found.state), prover: archive(found.prover), date: found.date };
}

type Found = Manifest | PhysicalManifest;

/** Why a deployment cannot start from a snapshot; empty where it can. */
function whyUnfit(
  found: Found,
  { replace_existing, restore_with }: RawVariables['snapshot'],
  network: RawVariables['network'],
): string {
  if (!('pieces' in found)) return whyOther(found, network.kind);
  const other = whyOtherChain(found, network);
  if (other !== '') return other;
  if (found.postgres !== postgresVersion)
    return `is of PostgreSQL ${found.postgres}, whose files PostgreSQL ${postgresVersion} cannot read`;
  if (replace_existing)
    return 'is of a physical snapshot, which replaces nothing: leave out replace_existing';
  return restore_with === 'image'
    ? ''
    : 'is of a physical snapshot, which no tool restores: leave out restore_with';
}

/** Why a manifest is not that of a network; empty where it is. */
function whyOther({ network, state, prover }: Manifest, kind: Manifest['network']): string {
  if (network !== kind) return `is of the ${network} network`;
  const archives = { state, prover };
  const other = keysOf(archives).find((store) => archives[store].file !== archiveName(kind, store));
  return other
    ? `names ${archives[other].file} as the ${other} archive, which is called ${archiveName(kind, other)}`
    : '';
}

const isAddress = (manifest: string) => /^(https?|s3):/i.test(manifest);

/**
 * @throws Error whose message continues the address or path
 */
async function read(source: string, storage: Storage | undefined): Promise<string> {
  try {
    if (!isAddress(source)) return readBounded(source, longest).toString();
    if (storage && isOfStorage(source)) return await readStored(source, storage);
    const answer = await fetch(source, { signal: AbortSignal.timeout(patience) });
    if (!answer.ok) throw new Error(`answers HTTP ${answer.status}`);
    let text = '';
    for await (const part of answer.body ?? []) {
      text += Buffer.from(part).toString();
      if (text.length > longest) throw new Error(`is longer than ${longest} bytes`);
    }
    return text;
  } catch (error) {
    if (error instanceof UnfitFile) throw error;
    const { code, cause, message, name } = error as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException };
    if (code === 'ENOENT') throw new Error('does not exist');
    if (name === 'TimeoutError') throw new Error(`does not answer within ${patience / 1000} s`);
    throw new Error(code || cause ? `cannot be read (${cause?.code ?? cause?.message ?? code})` : message);
  }
}

/**
 * @throws Error as `read`
 */
async function readStored(source: string, storage: Storage): Promise<string> {
  const file = { url: webAddress(source, storage), shown: source, signing: signing(storage) };
  const answer = await askStorageFromHere(file, longest, patience / 1000);
  if (!answer.answered) throw new Error(`cannot be read: ${answer.why}`);
  if (answer.status === undefined) throw new Error('cannot be read: curl is not installed on this machine');
  if ((answer.size ?? 0) > longest) throw new Error(`is longer than ${longest} bytes`);
  return answer.body.toString();
}

/**
 * @throws Error as `read`
 */
function parse(text: string): Found {
  const json = parseJson(text);
  const { data } = z.union([manifestSchema, physicalManifestSchema]).safeParse(json);
  if (data) return data;
  const physical = writtenBy.safeParse(json).data;
  if (!physical) throw new Error('is not a manifest of a snapshot');
  const issue = physicalManifestSchema.safeParse(json).error?.issues[0];
  const fault = [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
  throw new Error(`was written by version ${physical.version}, and cannot be read here: ${fault}`);
}

/** What every manifest of a physical snapshot has, whatever its version. */
const writtenBy = z.looseObject({ format: z.literal('physical'), version: z.string() });
