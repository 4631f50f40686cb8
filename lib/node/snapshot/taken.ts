import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { inRootsFolder } from '../../engine/host/step-script.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { bytesIn, job } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, refused, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { archiveName } from '../variables/archive-name.ts';
import { databaseHost } from '../variables/hosts.ts';
import { manifestSchema } from '../variables/manifest.ts';
import type { Variables } from '../variables/variables.ts';
import { type JudgeManifest, otherFolder } from './judge-manifest.ts';

const script = readFileSync(new URL('../../../templates/host/take-snapshot.sh', import.meta.url), 'utf8');

/**
 * A folder of the host has both archives, of one moment, and their manifest.
 *
 * @param folder an absolute path
 * @param before a script that has to succeed first
 */
export function snapshotIsTaken(
  { host, hosts }: Context<Variables>,
  folder: string,
  before = '',
): Resource[] {
  const server = databaseHost(hosts);
  const passwords = `${host.vars.paths.deployment}/snapshot.pgpass`;
  const settings = shellSettings({
    FOLDER: folder,
    ADDRESS: server.name === host.name ? '127.0.0.1' : server.connection.address,
    PORT: server.vars.ports.state_db,
    PGPASSFILE: passwords,
    ...databaseSettings(server.vars),
  });
  const { user, password } = server.vars.credentials.state;
  return [
    directory(host.vars.paths.deployment).mode(0o700),
    file(passwords).content(secretContent(`*:*:*:${user}:${password.reveal()}\n`, /:/)),
    job(`snapshot of both databases is in ${folder}`, {
      unit: 'rpc-node-snapshot',
      script: `${settings}${inRootsFolder(folder)}\n${before}${script}`,
      done: (reader) => judge(reader, folder, { hosts }),
      // What a dump will need is not known before its end.
      progress: (reader) => bytesIn(reader, [`${folder}/.part`], 'dumping both databases'),
    }),
  ];
}

function archiveNames({ network }: Variables) {
  return { state: archiveName(network.kind, 'state'), prover: archiveName(network.kind, 'prover') };
}

/** The settings of the script for the two databases. */
function databaseSettings(vars: Variables) {
  const { credentials, network } = vars;
  const names = archiveNames(vars);
  return {
    DATABASE_USER: credentials.state.user,
    STATE_DATABASE: credentials.state.database,
    STATE_NAME: names.state,
    STATE_TABLE: 'state.l2block',
    PROVER_DATABASE: credentials.prover.database,
    PROVER_NAME: names.prover,
    PROVER_TABLE: 'state.nodes',
    NETWORK: network.kind,
  };
}

async function judge(
  host: Reader,
  folder: string,
  { hosts }: Pick<Context<Variables>, 'hosts'>,
): Promise<Verdict> {
  const names = archiveNames(databaseHost(hosts).vars);
  const [there, list, manifest, state, prover] = await Promise.all([
    host.stat(folder),
    host.$`ls -A ${folder}`,
    host.read(`${folder}/manifest.json`),
    host.stat(`${folder}/${names.state}`),
    host.stat(`${folder}/${names.prover}`),
  ]);
  if (there && there.type !== 'directory') return refused(`${folder} is no folder`, otherFolder);
  if (!manifest) {
    const found = list.lines();
    const own = ['.part', 'lost+found', ...(found.includes('.part') ? Object.values(names) : [])];
    const foreign = found.find((name) => !own.includes(name));
    if (foreign !== undefined)
      return refused(`${folder} holds ${foreign}, which is not of a snapshot`, otherFolder);
    return drift([{ what: 'snapshot', was: 'absent', wanted: `${folder}/manifest.json` }]);
  }
  const sizes = { [names.state]: state?.size, [names.prover]: prover?.size };
  return archivesAreWanted({ hosts })(manifest.toString(), folder, (file, bytes) => sizes[file] === bytes);
}

/** Judges the manifest of a folder: it is of both archives, which are there. */
export function archivesAreWanted({ hosts }: Pick<Context<Variables>, 'hosts'>): JudgeManifest {
  const names = archiveNames(databaseHost(hosts).vars);
  return (text, folder, has) => {
    const read = manifestSchema.safeParse(parseJson(text)).data;
    if (!read) return refused(`${folder}/manifest.json is not a manifest`, otherFolder);
    return has(names.state, read.state.bytes) && has(names.prover, read.prover.bytes)
      ? ok
      : refused(`the archives in ${folder} are not those of their manifest`, otherFolder);
  };
}
