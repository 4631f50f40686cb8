import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  refused,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { postgresVersion } from '../variables/generation.ts';
import { stateHost } from '../variables/hosts.ts';
import type { ServiceName } from '../variables/services.ts';
import type { Credentials, Variables } from '../variables/variables.ts';
import { trustedFile } from './tls-files.ts';

const script = readFileSync(new URL('../../../templates/host/log-in.sh', import.meta.url), 'utf8');

/** Seconds within which one connection has to be made. */
const limit = 4;

export type Deployment = Pick<Context<Variables>, 'host' | 'hosts' | 'vars'>;

/** A database as a component of the host uses it. */
export interface Login {
  readonly of: 'state' | 'prover' | 'pool';
  /** The container of its server. */
  readonly server: 'state-db' | 'pool-db';
  readonly address: string;
  readonly port: number;
  readonly credentials: Credentials;
}

/**
 * The three databases that a host uses: state and prover on the Database+Sync server or a replica,
 * and its own pool.
 */
export function loginsOf({ host, hosts, vars }: Deployment): readonly Login[] {
  const server = stateHost(hosts, host);
  const address = server.name === host.name ? '127.0.0.1' : server.connection.address;
  const state = { server: 'state-db', address, port: server.vars.ports.state_db } as const;
  const { credentials, ports } = vars;
  return [
    { of: 'state', ...state, credentials: credentials.state },
    { of: 'prover', ...state, credentials: credentials.prover },
    {
      of: 'pool',
      server: 'pool-db',
      address: '127.0.0.1',
      port: ports.pool_db,
      credentials: credentials.pool,
    },
  ];
}

/**
 * The components that use the databases, with the hashes of their wanted configuration. One that
 * the host does not run is undefined.
 */
type Services = Readonly<Record<ServiceName, { readonly configHash: string } | undefined>>;

/**
 * The databases that a host uses accept the users and passwords of the inventory, tried from this
 * host (spec part 1.8), before anything is changed. A database that does not run yet, as on a first
 * deploy, is tried again before its clients start. A database that still has the password from
 * before a rotation gets the new one in this run, if the run has all servers.
 */
export function databasesAcceptLogins(deployment: Deployment & RunParts, services: Services): Resource {
  return expectation("databases accept the inventory's users and passwords", {
    check: async (host) => {
      if (await haveLoggedIn(host, services)) return ok;
      const verdict = await tryLogins(
        host,
        loginsOf(deployment),
        deployment.vars,
        (changing) => refusedInPart(deployment, changing) ?? ok,
      );
      return verdict.is === 'unknown' ? ok : verdict;
    },
    hint,
  });
}

/** The hosts and roles of a run. */
export type RunParts = Pick<Context<Variables>, 'includes' | 'roles'>;

/**
 * Refuses a run that would change passwords and leaves out a server that uses them.
 *
 * @returns undefined if the run has every server
 */
export function refusedInPart(
  { hosts, includes, roles }: Deployment & RunParts,
  changing: readonly Login[],
): Verdict | undefined {
  const servers = hosts.filter(({ groups }) => groups.includes('database') || groups.includes('rpc'));
  const missing = servers.flatMap(({ name }) => (includes(name, 'temporary-logins') ? [] : name));
  const what = `${wordsOf(changing)} is being changed, and`;
  const remedy = `deploy all servers and roles: without --limit, --role and --skip-role. ${wayBack}`;
  if (missing.length > 0) return refused(`${what} ${missing.join(', ')} is not part of this run`, remedy);
  // Another playbook, such as switch.
  if (roles?.has('temporary-logins') === false)
    return refused(`${what} only a deploy changes passwords`, remedy);
  return undefined;
}

/** What an operator can do where the deploy that ends a rotation is impossible. */
export const wayBack =
  'Where such a deploy is impossible, as while the Database+Sync server is dead: exchange the state and the prover password with their values under previous, by secrets.mjs edit (docs/secrets.md, "A failover during a rotation")';

/** The same for some databases in their turn, before the components start that use them. */
export function acceptsLogins(
  deployment: Deployment,
  of: readonly Login['of'][],
  services: Services,
): Resource {
  const logins = loginsOf(deployment).filter((login) => of.includes(login.of));
  return expectation(`${of.join(' and ')} database accept the inventory's user and password`, {
    check: async (host) =>
      (await haveLoggedIn(host, services))
        ? ok
        : tryLogins(host, logins, deployment.vars, (changing) =>
            unknownUntil(`${wordsOf(changing)} is changed`),
          ),
    hint: formerLogins(logins).length > 0 ? `${hint}. ${wayBack}` : hint,
  });
}

/** `the password of the state and prover database`. */
export function wordsOf(logins: readonly Login[]): string {
  return `the password of the ${logins.map(({ of }) => of).join(' and ')} database`;
}

/**
 * Whether all components run with the wanted configuration. They have logged in with it, so the
 * databases need not be asked.
 */
export async function haveLoggedIn(host: Reader, services: Services): Promise<boolean> {
  const users = (['prover', 'sync', 'json-rpc'] as const).filter((name) => services[name] !== undefined);
  const states = await Promise.all(users.map((name) => host.container(name)));
  return users.every((name, at) => {
    const state = states[at];
    return state?.status === 'running' && state.labels[configHashLabel] === services[name]?.configHash;
  });
}

const hint =
  'user, password and name of a database are those of its data directory: put them into credentials in the inventory. A deploy changes a password only after secrets.mjs rotate (docs/secrets.md, "Rotate passwords")';

/**
 * Why PostgreSQL refuses a user, from the last line of psql.
 *
 * @returns undefined if PostgreSQL does not answer, or refuses everybody for now: it starts or
 * stops, or all its connections are taken
 */
export function refusalIn(reason: string): string | undefined {
  const [, fatal = ''] = /FATAL: +(.*)$/.exec(reason) ?? [];
  const isBusy = /^(the database system is |sorry, too many clients|remaining connection slots)/.test(fatal);
  return fatal === '' || isBusy ? undefined : fatal;
}

/**
 * The answer to a login: accepted; refused, with the words of the server; or silent, with the
 * reason if encryption is the cause.
 */
export type Answer = 'accepted' | { readonly silent: string } | { readonly refusal: string };

/**
 * Logs in to databases from a host, all at once.
 *
 * @returns an answer for each login; undefined where the host has no psql
 */
export async function answersOf(
  host: Reader,
  logins: readonly Login[],
  { tls }: Variables,
): Promise<readonly Answer[] | undefined> {
  const trusted = tls ? [trustedFile] : [];
  const lines = logins.map(({ address, port, credentials: { user, database, password } }) =>
    [address, port, user, database, password.reveal()].join(' '),
  );
  const output = await host.$({ stdin: new Secret(`${lines.join('\n')}\n`), timeoutSeconds: limit + 4 })`
    sh -c ${script} log-in ${limit} ${trusted}`;
  // The script names the logins that failed. A script that was cut off may have left some out.
  if (!output.ok) return logins.map(() => ({ silent: '' }));
  if (output.text() === 'absent') return undefined;
  const failed = new Map(
    output.lines().flatMap((line) => {
      const [, number, reason = ''] = /^(\d+) (.*)$/.exec(line) ?? [];
      return number === undefined ? [] : [[Number(number), reason] as const];
    }),
  );
  return logins.map((_, at) => {
    const reason = failed.get(at + 1);
    if (reason === undefined) return 'accepted';
    const refusal = refusalIn(reason);
    if (refusal !== undefined) return { refusal };
    const isEncryption = /SSL|certificate/.test(reason);
    return { silent: isEncryption ? `, with encryption: ${reason.replace(/^.*?: error: /, '')}` : '' };
  });
}

/** The same logins with the passwords from before a rotation, of those that have one. */
export function formerLogins(logins: readonly Login[]): readonly Login[] {
  return logins.flatMap((login) => {
    const { former } = login.credentials.password;
    return former ? [{ ...login, credentials: { ...login.credentials, password: former } }] : [];
  });
}

/** The verdict where the host has no psql. */
export const withoutClient = unknownUntil(`postgresql-client-${postgresVersion} is installed`);

/**
 * Unknown until each silent server answers; undefined if no server was silent.
 *
 * @param answers of the logins, in their order
 */
export function silenceOf(logins: readonly Login[], answers: readonly Answer[]): Verdict | undefined {
  const waits = logins.flatMap(({ server, address, port }, at) => {
    const answer = answers[at];
    if (typeof answer !== 'object' || !('silent' in answer)) return [];
    return [`${server} answers at ${address}:${port}${answer.silent}`];
  });
  return waits.length > 0 ? unknownUntil([...new Set(waits)].join(' and ')) : undefined;
}

/**
 * Unknown where a server does not answer, or the host has no psql.
 *
 * @param changing the verdict where a server refuses the new password of a rotation, and accepts
 * the former one
 */
async function tryLogins(
  host: Reader,
  logins: readonly Login[],
  vars: Variables,
  changing: (logins: readonly Login[]) => Verdict,
): Promise<Verdict> {
  const former = formerLogins(logins);
  const answers = await answersOf(host, [...logins, ...former], vars);
  if (!answers) return withoutClient;
  const isFormer = ({ of }: Login) =>
    former.some((login, at) => login.of === of && answers[logins.length + at] === 'accepted');
  const refusals = logins.flatMap((login, at) => {
    const answer = answers[at];
    return typeof answer === 'object' && 'refusal' in answer ? [{ login, ...answer }] : [];
  });
  const wrong = refusals.filter(({ login }) => !isFormer(login));
  if (wrong.length > 0) {
    const words = wrong.map(({ login: { of, address, port, credentials }, refusal }) => {
      return `${of} database at ${address}:${port} refuses ${credentials.user}: ${refusal}`;
    });
    return drift(words.join('; '));
  }
  const silence = silenceOf(logins, answers);
  if (silence) return silence;
  return refusals.length > 0 ? changing(refusals.map(({ login }) => login)) : ok;
}
