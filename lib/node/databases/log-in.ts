import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
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

/** Of one connection. Seconds. */
const limit = 4;

type Deployment = Pick<Context<Variables>, 'host' | 'hosts' | 'vars'>;

/** A database as a component of the host uses it. */
interface Login {
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
function loginsOf({ host, hosts, vars }: Deployment): readonly Login[] {
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
 * User and password of the inventory are accepted by the databases that a host uses, tried from
 * this host (spec part 1.8). Before anything is changed: a database that does not run yet, as on a
 * first deploy, is tried again in its turn.
 */
export function databasesAcceptLogins(deployment: Deployment, services: Services): Resource {
  return expectation("databases accept the inventory's users and passwords", {
    check: async (host) => {
      if (await haveLoggedIn(host, services)) return ok;
      const verdict = await tryLogins(host, loginsOf(deployment), deployment.vars);
      return verdict.is === 'unknown' ? ok : verdict;
    },
    hint,
  });
}

/** The same for some databases in their turn, before the components start that use them. */
export function acceptsLogins(
  deployment: Deployment,
  of: readonly Login['of'][],
  services: Services,
): Resource {
  const logins = loginsOf(deployment).filter((login) => of.includes(login.of));
  return expectation(`${of.join(' and ')} database accept the inventory's user and password`, {
    check: async (host) =>
      (await haveLoggedIn(host, services)) ? ok : tryLogins(host, logins, deployment.vars),
    hint,
  });
}

/**
 * Components that run with the wanted configuration have logged in with it. That saves a request
 * where there is nothing to do.
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
  'user, password and name of a database are those of its data directory, and a deploy does not change them: put them into credentials in the inventory, or change them in the database (docs/secrets.md, "Rotate passwords")';

/**
 * Why PostgreSQL does not let a user in, from the last words of psql; undefined where it lets
 * nobody in for now, as it starts, stops, or all its connections are taken, or does not answer.
 */
export function refusalIn(reason: string): string | undefined {
  const [, fatal = ''] = /FATAL: +(.*)$/.exec(reason) ?? [];
  const isBusy = /^(the database system is |sorry, too many clients|remaining connection slots)/.test(fatal);
  return fatal === '' || isBusy ? undefined : fatal;
}

/** Unknown where a server does not answer, or the host has no psql. */
async function tryLogins(host: Reader, logins: readonly Login[], { tls }: Variables): Promise<Verdict> {
  const trusted = tls ? [trustedFile] : [];
  const lines = logins.map(({ address, port, credentials: { user, database, password } }) =>
    [address, port, user, database, password.reveal()].join(' '),
  );
  const output = await host.$({ stdin: new Secret(`${lines.join('\n')}\n`), timeoutSeconds: limit + 4 })`
    sh -c ${script} log-in ${limit} ${trusted}`;
  if (output.text() === 'absent') return unknownUntil(`postgresql-client-${postgresVersion} is installed`);
  const refused: string[] = [];
  const silent: string[] = [];
  for (const line of output.lines()) {
    const [, number, reason = ''] = /^(\d+) (.*)$/.exec(line) ?? [];
    const login = logins[Number(number) - 1];
    if (!login) continue;
    const { of, server, address, port, credentials } = login;
    const refusal = refusalIn(reason);
    if (refusal !== undefined) {
      refused.push(`${of} database at ${address}:${port} refuses ${credentials.user}: ${refusal}`);
    } else {
      const why = /SSL|certificate/.test(reason)
        ? `, with encryption: ${reason.replace(/^.*?: error: /, '')}`
        : '';
      silent.push(`${server} answers at ${address}:${port}${why}`);
    }
  }
  if (refused.length > 0) return drift(refused.join('; '));
  return silent.length > 0 ? unknownUntil([...new Set(silent)].join(' and ')) : ok;
}
