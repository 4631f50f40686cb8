import { isIP } from 'node:net';
import * as z from 'zod';
import type { ContainerState, Reader, SqlTarget } from '../../engine/host/host.ts';
import { drift, type EveryHost, expectation, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { sqlLiteral, unknownWithoutAnswer } from '../databases/postgres.ts';
import { addressesOf } from '../variables/addresses.ts';
import type { Variables } from '../variables/variables.ts';
import { noSynchronizerOn } from './synchronizers.ts';

type Deployment = Pick<Context<Variables>, 'host' | 'hosts' | 'vars'>;

const corrupts = 'two synchronizers on one state database corrupt it';

/** What may be at work in the state database from elsewhere: sessions as the node opens them, by TCP and with no application name. */
interface Client {
  readonly address: string;
  /** Whether a session writes. Of the node's components only a synchronizer does. */
  readonly writes: boolean;
  /** Whether every session was seen to read, and to do nothing else. */
  readonly reads: boolean;
}

/**
 * Before the synchronizer is started: no other one runs on any host of the inventory, and none is at work in the state database from
 * elsewhere.
 */
export function noOtherSynchronizer(deployment: Deployment): EveryHost {
  const own = deployment.host.name;
  return {
    name: 'no other synchronizer runs',
    check: async (host, unseen) => {
      if (host.name !== own) return noSynchronizerOn(host, false);
      const [here, clients] = await Promise.all([
        noSynchronizerOn(host, true),
        strangers(host, deployment, { unseen, samples: 20 }),
      ]);
      return here.is === 'ok' && clients.is === 'drift' ? clients : here;
    },
    hint: `stop that synchronizer for good, for example with docker rm -f CONTAINER or systemctl disable --now UNIT: ${corrupts}. ${leftSessions(stateDatabase(deployment.vars))}`,
  };
}

/**
 * Nothing but our own hosts may use the state database as the node does, and none of them may write to it. The node gives no
 * application name, which tells it from an operator's psql; components on our own hosts are known by where they come from.
 */
export function noForeignSynchronizer(deployment: Deployment): Resource {
  const state = stateDatabase(deployment.vars);
  return expectation(
    'no other synchronizer uses the state database',
    (host) => strangers(host, deployment, { unseen: [], samples: 1 }),
    {
      hint: `stop the node there, an RPC server's too: ${corrupts}. ${leftSessions(state)}`,
    },
  );
}

function leftSessions({ container, user, database }: SqlTarget): string {
  return `If it is stopped already, its sessions may remain; end them: docker exec ${container} psql -U ${user} -d ${database} -c "select pg_terminate_backend(pid) from pg_stat_activity where client_addr = 'ADDRESS'"`;
}

/**
 * Who is at work in the state database from elsewhere and may be a synchronizer.
 *
 * @param options `unseen`: hosts of the inventory that could not be looked at; `samples`: how often to look, ten times a second
 * @returns unknown where the database does not answer
 */
async function strangers(
  host: Reader,
  { hosts, vars }: Deployment,
  { unseen, samples }: { readonly unseen: readonly string[]; readonly samples: number },
): Promise<Verdict> {
  const state = stateDatabase(vars);
  const [container, clients, known, away] = await Promise.all([
    host.container(state.container),
    readClients(host, state, samples),
    resolved(host, hosts),
    resolved(
      host,
      hosts.filter(({ name }) => unseen.includes(name)),
    ),
  ]);
  if ('error' in clients) return unknownWithoutAnswer(state.container, container, clients.error);
  const found = clients
    .filter(({ address }) => !isInNetworkOf(container, address))
    .flatMap(({ address, writes, reads }) => {
      if (!known.has(address))
        return [`a node on ${address} is connected to the state database, and is not a host of this inventory`];
      if (writes) return [`a node on ${address} writes to the state database, which only a synchronizer does`];
      return away.has(address) && !reads
        ? [`a node on ${address}, which could not be checked, is connected to the state database and may be writing`]
        : [];
    });
  return found.length === 0 ? ok : drift(found.join('; '));
}

/** The addresses that other hosts of the inventory come from. */
async function resolved(host: Reader, others: Deployment['hosts']): Promise<ReadonlySet<string>> {
  const addresses = others.flatMap((each) => [each.connection.address, ...addressesOf(each)]);
  const names = [...new Set(addresses)].filter((address) => isIP(address) === 0 && !address.includes('/'));
  const output = names.length === 0 ? undefined : await host.$`getent ahosts ${names}`;
  return new Set([...addresses, ...(output?.lines() ?? []).map((line) => line.split(' ')[0] ?? '')]);
}

/** How a query begins that writes. A synchronizer's sessions show theirs: `INSERT INTO state.block`, `UPDATE state.sync_info`. */
const writing = String.raw`^\s*(insert|update|delete|copy|merge|truncate|create|alter|drop)\M|^\s*with\M.*\m(insert\s+into|update|delete\s+from)\M`;
const reading = String.raw`^\s*(select|show)\M`;

/**
 * Clients that come by TCP, connect as the node does and give no application name. A session shows its newest query only, so it is
 * looked at several times.
 */
async function readClients(
  host: Reader,
  state: SqlTarget,
  samples: number,
): Promise<readonly Client[] | { error: string }> {
  const result = await host.sql(
    state,
    `select host(a.client_addr),
       bool_or(a.backend_xid is not null or a.query ~* ${sqlLiteral(writing)}),
       bool_and(a.query ~* ${sqlLiteral(reading)})
     from generate_series(1, ${samples}) sample,
       lateral (select pg_sleep(case when sample > 1 then 0.1 else 0 end)::text, pg_stat_clear_snapshot()::text) pause(slept, cleared),
       lateral pg_stat_get_activity(case when slept || cleared is null then 0 end) a
       join pg_database d on d.oid = a.datid
       join pg_roles r on r.oid = a.usesysid
     where d.datname = ${sqlLiteral(state.database)} and r.rolname = ${sqlLiteral(state.user)}
       and a.client_addr is not null and coalesce(a.application_name, '') = ''
     group by 1`,
  );
  if (!result.ok) return result;
  return result.rows.flatMap(([address, writes, reads]) =>
    address ? [{ address, writes: writes === 't', reads: reads === 't' }] : [],
  );
}
/** Of the engine's document; a network of another form is none. */
const inspected = z.object({ NetworkSettings: z.object({ Networks: z.record(z.string(), z.unknown()) }) });
const network = z.object({ IPAddress: z.string(), IPPrefixLen: z.int().min(0).max(32) });

/** Whether an IPv4 address is in one of the container's own networks: our own components, or this host itself. */
function isInNetworkOf(container: Pick<ContainerState, 'raw'> | undefined, address: string): boolean {
  if (address === '127.0.0.1' || address === '::1') return true;
  const networks = Object.values(inspected.safeParse(container?.raw).data?.NetworkSettings.Networks ?? {});
  return networks.some((each) => {
    const { data } = network.safeParse(each);
    if (!data) return false;
    const { IPAddress, IPPrefixLen } = data;
    const [own, other] = [asNumber(IPAddress), asNumber(address)];
    const width = 2 ** (32 - IPPrefixLen);
    return own !== undefined && other !== undefined && Math.floor(own / width) === Math.floor(other / width);
  });
}

function asNumber(address: string): number | undefined {
  if (isIP(address) !== 4) return undefined;
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}
