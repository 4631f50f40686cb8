import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { inRootsFolder } from '../../engine/host/step-script.ts';
import { bytesIn, job } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, refused, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { programVersion } from '../../engine/run/lock/lock-holder.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { databaseHost } from '../variables/hosts.ts';
import { physicalManifestSchema } from '../variables/manifest.ts';
import type { Variables } from '../variables/variables.ts';

const read = (name: string) =>
  readFileSync(new URL(`../../../templates/host/${name}.sh`, import.meta.url), 'utf8');
const script = ['claim-databases', 'physical-snapshot'].map(read).join('\n');

/**
 * Bytes of the tar stream in one piece. What zstd cannot compress grows by less than a hundredth,
 * so that a piece stays below 1 GiB. Bytes.
 */
const pieceSize = 1000 * 1024 ** 2;

/**
 * A folder of the host, which runs the database server or a replica, has a physical snapshot.
 *
 * @param folder an absolute path
 * @param before a script that has to succeed first
 */
export function physicalSnapshotIsTaken(
  { hosts, given }: Context<Variables>,
  folder: string,
  before = '',
): Resource[] {
  const isForOthers = given.publish !== undefined;
  const { credentials, network } = databaseHost(hosts).vars;
  const settings = shellSettings({
    FOLDER: folder,
    DATABASE_USER: credentials.state.user,
    STATE_DATABASE: credentials.state.database,
    STATE_TABLE: 'state.l2block',
    PROVER_DATABASE: credentials.prover.database,
    PROVER_USER: credentials.prover.user,
    PIECE: pieceSize,
    PUBLISH: String(isForOthers),
    MANIFEST: JSON.stringify({
      format: 'physical',
      version: programVersion(),
      network: network.kind,
      chain_id: network.chain_id,
      l2_chain_id: network.l2_chain_id ?? null,
      password_hashes: !isForOthers,
    }),
  });
  return [
    packages('zstd'),
    job(`physical snapshot of the database server is in ${folder}`, {
      // That of the other kind: one of them at a time.
      unit: 'rpc-node-snapshot',
      script: `${settings}${inRootsFolder(folder)}\n${before}${script}`,
      done: (reader) => judge(reader, folder, isForOthers),
      progress: (reader) => bytesIn(reader, [`${folder}/.part`], 'copying the database server'),
    }),
  ];
}

async function judge(host: Reader, folder: string, isForOthers: boolean): Promise<Verdict> {
  const [there, list, manifest, sizes] = await Promise.all([
    host.stat(folder),
    host.$`ls -A ${folder}`,
    host.read(`${folder}/manifest.json`),
    host.$`find ${folder} -maxdepth 1 -name ${'piece-*'} -printf ${'%f %s\\n'}`,
  ]);
  const hint = 'name another folder: nothing in this one is changed';
  if (there && there.type !== 'directory') return refused(`${folder} is no folder`, hint);
  if (!manifest) {
    const isOwn = (name: string) =>
      ['.part', 'lost+found'].includes(name) ||
      (list.lines().includes('.part') && /^piece-\d{6}\.tar\.zst$/.test(name));
    const foreign = list.lines().find((name) => !isOwn(name));
    if (foreign !== undefined) return refused(`${folder} holds ${foreign}, which is not of a snapshot`, hint);
    return drift([{ what: 'snapshot', was: 'absent', wanted: `${folder}/manifest.json` }]);
  }
  const read = physicalManifestSchema.safeParse(parseJson(manifest.toString())).data;
  if (!read) return refused(`${folder}/manifest.json is not the manifest of a physical snapshot`, hint);
  if (isForOthers && read.password_hashes)
    return refused(`the snapshot in ${folder} holds password hashes and is not to be published`, hint);
  const found = new Set(sizes.lines());
  return read.pieces.every(({ file, bytes }) => found.has(`${file} ${bytes}`))
    ? ok
    : refused(`the pieces in ${folder} are not those of their manifest`, hint);
}
