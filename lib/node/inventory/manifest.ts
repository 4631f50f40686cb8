import { hintOfUnread, readBounded, UnfitFile } from '../../engine/file/bounded-file.ts';
import { pathBeside } from '../../engine/file/private-file.ts';
import { shown } from '../../engine/file/shown-path.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { withoutQuery } from '../../engine/resource/network/http.ts';
import { keysOf } from '../../engine/text/keys.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { archiveName } from '../variables/archive-name.ts';
import { type Manifest, manifestSchema } from '../variables/manifest.ts';
import type { RawVariables, SnapshotFiles } from '../variables/variables.ts';

/** A manifest has some hundred bytes. */
const longest = 64 * 1024;
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
  { placeOf }: LoadedInventory<RawVariables>,
  { name, vars: { snapshot, network } }: InventoryHost<RawVariables>,
  texts: Map<string, Promise<string>>,
  problems: Problem[],
): Promise<SnapshotFiles | undefined> {
  const { manifest, from, state, prover, date } = snapshot;
  if (manifest === undefined)
    return state && prover && date !== undefined ? { state, prover, date } : undefined;
  const where = placeOf(name, ['snapshot', 'manifest']);
  const isRemote = isAddress(manifest);
  const source = isRemote ? manifest : pathBeside(where.file, manifest);
  const text = texts.get(source) ?? read(source);
  texts.set(source, text);
  const found = await text.then(parse).catch((error: Error) => error);
  const why = found instanceof Error ? found.message : whyOther(found, network.kind);
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
  const folder = new URL(from === undefined ? '.' : from.replace(/\/*$/, '/'), isRemote ? source : undefined);
  const archive = ({ file, sha256 }: Manifest['state']) => ({ url: new URL(file, folder).href, sha256 });
  return { state: archive(found.state), prover: archive(found.prover), date: found.date };
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

const isAddress = (manifest: string) => /^https?:/i.test(manifest);

/**
 * @throws Error whose message continues the address or path
 */
async function read(source: string): Promise<string> {
  try {
    if (!isAddress(source)) return readBounded(source, longest).toString();
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
function parse(text: string): Manifest {
  const { data } = manifestSchema.safeParse(parseJson(text));
  if (data) return data;
  throw new Error('is not a manifest of a snapshot');
}
