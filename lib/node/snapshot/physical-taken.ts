import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { inRootsFolder } from '../../engine/host/step-script.ts';
import { bytesIn, job } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, refused, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { programVersion } from '../../engine/run/lock/lock-holder.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { databaseHost } from '../variables/hosts.ts';
import { physicalManifestSchema, pieceName, whyOtherChain } from '../variables/manifest.ts';
import type { Variables } from '../variables/variables.ts';
import { type JudgeManifest, otherFolder } from './judge-manifest.ts';
import { type PhysicalSource, sourceCanBeCopied, sourceHere } from './physical-source.ts';

const read = (name: string) =>
  readFileSync(new URL(`../../../templates/host/${name}.sh`, import.meta.url), 'utf8');
const script = ['base-backups', 'claim-databases', 'physical-snapshot'].map(read).join('\n');

/**
 * Bytes of a file or of the tar stream in one piece: half of a file of a large table
 * (https://www.postgresql.org/docs/15/storage-file-layout.html), so that its pieces are alike.
 */
const pieceSize = 512 * 1024 ** 2;

/** The program of the backup host that recovers from its repository. */
interface RecoveryProgram {
  readonly program: string;
  /** The file with its settings. */
  readonly settings: string;
  /** Both, of this version: the host may have been deployed by another. */
  readonly files: readonly Resource[];
}

/**
 * A folder of the host, which runs the database server or a replica or has the repository of
 * backups, has a physical snapshot.
 *
 * @param folder an absolute path
 * @param recovery how the backup host recovers from its repository
 * @param before a script that has to succeed first
 * @throws TypeError on another host
 */
export function physicalSnapshotIsTaken(
  context: Context<Variables>,
  folder: string,
  recovery: RecoveryProgram,
  before = '',
): Resource[] {
  const source = sourceHere(context);
  if (!source) throw new TypeError('the host is no source of a physical snapshot');
  const settings = settingsOf(context, folder, source, recovery);
  const taken = job(`physical snapshot of the database server is in ${folder}`, {
    // That of the other kind: one of them at a time.
    unit: 'rpc-node-snapshot',
    script: `${settings}${inRootsFolder(folder)}\n${before}${script}`,
    done: (reader) => judge(reader, folder, { wanted: physicalIsWanted(context), why: source.why }),
    progress: (reader) => bytesIn(reader, [`${folder}/.part`], 'copying the database server'),
  });
  const files = source.kind === 'repository' ? recovery.files : [];
  return [
    skipWhen(taken, sourceCanBeCopied(context, source)),
    packages('zstd', 'libarchive-tools'),
    ...files.map((each) => skipWhen(taken, each)),
    taken,
  ];
}

/** The settings of templates/host/physical-snapshot.sh. */
function settingsOf(
  { hosts, given, vars }: Context<Variables>,
  folder: string,
  source: PhysicalSource,
  recovery: RecoveryProgram,
): string {
  const isForOthers = given.publish !== undefined;
  const { credentials, network } = databaseHost(hosts).vars;
  return shellSettings({
    FOLDER: folder,
    DATABASE_USER: credentials.state.user,
    STATE_DATABASE: credentials.state.database,
    STATE_TABLE: 'state.l2block',
    PROVER_DATABASE: credentials.prover.database,
    PROVER_USER: credentials.prover.user,
    PIECE: pieceSize,
    PUBLISH: String(isForOthers),
    SOURCE: source.kind,
    RECOVERY: recovery.program,
    CONF: recovery.settings,
    STAGED: `${dataFolder(vars, 'backup')}/snapshot`,
    MANIFEST: JSON.stringify({
      format: 'physical',
      version: programVersion(),
      network: network.kind,
      chain_id: network.chain_id,
      l2_chain_id: network.l2_chain_id ?? null,
      password_hashes: !isForOthers && source.kind === 'server',
    }),
  });
}

async function judge(
  host: Reader,
  folder: string,
  { wanted, why }: { readonly wanted: JudgeManifest; readonly why: string },
): Promise<Verdict> {
  const [there, list, manifest, sizes] = await Promise.all([
    host.stat(folder),
    host.$`ls -A ${folder}`,
    host.read(`${folder}/manifest.json`),
    host.$`find ${folder} -maxdepth 1 -name ${'piece-*'} -printf ${'%f %s\\n'}`,
  ]);
  if (there && there.type !== 'directory') return refused(`${folder} is no folder`, otherFolder);
  if (!manifest) {
    const isOwn = (name: string) =>
      ['.part', 'lost+found'].includes(name) || (list.lines().includes('.part') && pieceName.test(name));
    const foreign = list.lines().find((name) => !isOwn(name));
    if (foreign !== undefined)
      return refused(`${folder} holds ${foreign}, which is not of a snapshot`, otherFolder);
    return drift([
      { what: 'snapshot', was: 'absent', wanted: `${folder}/manifest.json` },
      { what: 'source', was: 'none', wanted: why },
    ]);
  }
  const found = new Set(sizes.lines());
  return wanted(manifest.toString(), folder, (file, bytes) => found.has(`${file} ${bytes}`));
}

/** Judges the manifest of a folder: it is of what the run asks for. */
export function physicalIsWanted({
  hosts,
  given,
}: Pick<Context<Variables>, 'hosts' | 'given'>): JudgeManifest {
  const { network } = databaseHost(hosts).vars;
  return (text, folder, has) => {
    const read = physicalManifestSchema.safeParse(parseJson(text)).data;
    if (!read)
      return refused(`${folder}/manifest.json is not the manifest of a physical snapshot`, otherFolder);
    const other = whyOtherChain(read, network);
    if (other !== '') return refused(`the snapshot in ${folder} ${other}`, otherFolder);
    // One of the repository has no password hashes, and is made for this fleet, too.
    if (given.publish !== undefined && read.image.includes('/'))
      return refused(`the snapshot in ${folder} names a registry and is not to be published`, otherFolder);
    if (given.publish !== undefined && read.password_hashes)
      return refused(
        `the snapshot in ${folder} holds password hashes and is not to be published`,
        otherFolder,
      );
    return read.pieces.every(({ file, bytes }) => has(file, bytes))
      ? ok
      : refused(`the pieces in ${folder} are not those of their manifest`, otherFolder);
  };
}
