import { readFileSync } from 'node:fs';
import type { Reader } from '../lib/engine/host/host.ts';
import { shellSettings } from '../lib/engine/host/shell-settings.ts';
import { inRootsFolder } from '../lib/engine/host/step-script.ts';
import { Problem } from '../lib/engine/problem/problem.ts';
import { secretContent } from '../lib/engine/resource/file/content.ts';
import { bytesIn } from '../lib/engine/resource/job/job.ts';
import { directory, file, job } from '../lib/engine/resource/kinds.ts';
import { drift, ok, type Resource, refused, type Verdict } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { parseJson } from '../lib/engine/text/parse-json.ts';
import { archiveName } from '../lib/node/variables/archive-name.ts';
import { databaseHost } from '../lib/node/variables/hosts.ts';
import { manifestSchema } from '../lib/node/variables/manifest.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const script = readFileSync(new URL('../templates/host/take-snapshot.sh', import.meta.url), 'utf8');

/** A snapshot of the databases is in the folder that option --to names: both archives, of one moment, and their manifest. */
export default role<Variables>('take-snapshot', ({ host, hosts, given }): Resource[] => {
  if (given.to === undefined) return [];
  const server = databaseHost(hosts);
  const [, named = server.name, folder = ''] = /^(?:([^/]*):)?(.*)$/.exec(given.to) ?? [];
  if (named !== host.name) {
    throw new Problem(`--to ${given.to} is on ${named}, and this run is on ${host.name}`, {
      hint: `name one host, and no --limit: --to ${host.name}:${folder}`,
    });
  }
  const { credentials, network, ports } = server.vars;
  const names = { state: archiveName(network.kind, 'state'), prover: archiveName(network.kind, 'prover') };
  const passwords = `${host.vars.paths.deployment}/snapshot.pgpass`;
  const settings = shellSettings({
    FOLDER: folder,
    ADDRESS: server.name === host.name ? '127.0.0.1' : server.connection.address,
    PORT: ports.state_db,
    PGPASSFILE: passwords,
    DATABASE_USER: credentials.state.user,
    STATE_DATABASE: credentials.state.database,
    STATE_NAME: names.state,
    STATE_TABLE: 'state.l2block',
    PROVER_DATABASE: credentials.prover.database,
    PROVER_NAME: names.prover,
    PROVER_TABLE: 'state.nodes',
    NETWORK: network.kind,
  });
  const { user, password } = credentials.state;
  return [
    directory(host.vars.paths.deployment).mode(0o700),
    file(passwords).content(secretContent(`*:*:*:${user}:${password.reveal()}\n`, /:/)),
    job(`snapshot of both databases is in ${folder}`, {
      unit: 'rpc-node-snapshot',
      script: `${settings}${inRootsFolder(folder)}\n${script}`,
      done: (reader) => judge(reader, folder, Object.values(names)),
      // What a dump will need is not known before its end.
      progress: (reader) => bytesIn(reader, `${folder}/.part`, 'dumping both databases'),
    }),
  ];
});

async function judge(host: Reader, folder: string, names: readonly string[]): Promise<Verdict> {
  const [there, list, manifest, ...archives] = await Promise.all([
    host.stat(folder),
    host.$`ls -A ${folder}`,
    host.read(`${folder}/manifest.json`),
    ...names.map((name) => host.stat(`${folder}/${name}`)),
  ]);
  const hint = 'name another folder: nothing in this one is changed';
  if (there && there.type !== 'directory') return refused(`${folder} is no folder`, hint);
  if (!manifest) {
    const found = list.lines();
    const own = ['.part', 'lost+found', ...(found.includes('.part') ? names : [])];
    const foreign = found.find((name) => !own.includes(name));
    if (foreign !== undefined) return refused(`${folder} holds ${foreign}, which is not of a snapshot`, hint);
    return drift([{ what: 'snapshot', was: 'absent', wanted: `${folder}/manifest.json` }]);
  }
  const read = manifestSchema.safeParse(parseJson(manifest.toString())).data;
  if (!read) return refused(`${folder}/manifest.json is not a manifest`, hint);
  const whole = [read.state, read.prover].every(({ bytes }, at) => archives[at]?.size === bytes);
  return whole ? ok : refused(`the archives in ${folder} are not those of their manifest`, hint);
}
