import { BlockList, isIP } from 'node:net';
import * as z from 'zod';
import type { ContainerState, Reader, SqlTarget } from '../../engine/host/host.ts';
import {
  drift,
  type EveryHost,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { sqlLiteral, unknownWithoutAnswer } from '../databases/postgres.ts';
import { addressesOf } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { noRewindDeletes } from './rewind-session.ts';
import { noSynchronizerOn } from './synchronizers.ts';

type Deployment = Pick<Context<Variables>, 'host' | 'hosts' | 'vars' | 'given'>;

const corrupts = 'two synchronizers on one state database corrupt it';

/**
 * The condition for a start of the synchronizer: no other one runs on any host of the inventory,
 * no other one is connected to the state database from another machine, and no rewind still deletes
 * there.
 */
export function noOtherSynchronizer(deployment: Deployment): EveryHost {
  const own = deployment.host.name;
  return {
    name: 'no other synchronizer runs',
    check: async (host, assumedStopped) => {
      if (host.name !== own) {
        const seen = await noSynchronizerOn(host, false);
        return seen.is === 'drift' && mayBeFormer(deployment, host.name)
          ? unknownUntil('the former server has ended')
          : seen;
      }
      const [here, ...others] = await Promise.all([
        noSynchronizerOn(host, true),
        noRewindDeletes(host, deployment.vars),
        foreignClients(host, deployment, { assumedStopped, samples: 20 }),
      ]);
      const drifting = others.find(({ is }) => is === 'drift');
      return here.is === 'ok' && drifting ? drifting : here;
    },
    hint: `stop that synchronizer for good, for example with docker rm -f CONTAINER or systemctl disable --now UNIT: ${corrupts}. ${leftSessions(stateDatabase(deployment.vars))}`,
  };
}

/** Whether a switch ends the synchronizer of a host before it starts another one. */
function mayBeFormer({ hosts, given }: Deployment, name: string): boolean {
  const isSwitch = hosts.some((host) => host.name === given.to);
  return isSwitch && hosts.some((host) => host.name === name && host.groups.includes('replica'));
}

/**
 * The condition for a change of the state database itself: no synchronizer runs on any host, and
 * no other one is connected to the state database from another machine.
 */
export function noSynchronizer(deployment: Deployment): EveryHost {
  const own = deployment.host.name;
  const other = noOtherSynchronizer(deployment);
  return {
    name: 'no synchronizer runs',
    check: async (host, ...asked) => {
      const [elsewhere, here] = await Promise.all([
        other.check(host, ...asked),
        host.name === own ? noSynchronizerOn(host, false) : ok,
      ]);
      if (elsewhere.is === 'drift' || here.is !== 'drift') return elsewhere;
      // The container that the run itself stops.
      return (await host.container('sync'))?.running ? unknownUntil('sync is stopped') : here;
    },
    hint: other.hint,
  };
}

/**
 * Only hosts of the inventory may connect to the state database as the node does, and none of them
 * may write. An operator's psql sets an application name, the node does not. Components on our own
 * hosts are recognised by their address.
 */
export function noForeignSynchronizer(deployment: Deployment): Resource {
  const state = stateDatabase(deployment.vars);
  return expectation('no other synchronizer uses the state database', {
    check: (host) => foreignClients(host, deployment, { assumedStopped: [], samples: 1 }),
    hint: `stop the node there, an RPC server's too: ${corrupts}. ${leftSessions(state)}`,
  });
}

function leftSessions({ container, user, database }: SqlTarget): string {
  return `If it is stopped already, its sessions may remain; end them: docker exec ${container} psql -U ${user} -d ${database} -c "select pg_terminate_backend(pid) from pg_stat_activity where client_addr = 'ADDRESS'"`;
}

/**
 * Checks the clients of the state database on other machines for a synchronizer.
 *
 * @param options `assumedStopped`: unreachable hosts that --assume-stopped names; `samples`:
 * number of samples, ten a second
 * @returns unknown where the database does not answer
 */
async function foreignClients(
  host: Reader,
  { hosts, vars }: Deployment,
  { assumedStopped, samples }: { readonly assumedStopped: readonly string[]; readonly samples: number },
): Promise<Verdict> {
  const state = stateDatabase(vars);
  const [container, clients, inventoryAddresses, stoppedAddresses] = await Promise.all([
    host.container(state.container),
    readClients(host, state, samples),
    resolveAddresses(host, hosts),
    resolveAddresses(
      host,
      hosts.filter(({ name }) => assumedStopped.includes(name)),
    ),
  ]);
  if ('error' in clients) return unknownWithoutAnswer(state.container, container, clients.error);
  const found = clients
    .filter(({ address }) => !isInNetworkOf(container, address))
    .flatMap(({ address, anyWrite, onlyReads }) => {
      if (!inventoryAddresses.has(address))
        return [
          `a node on ${address} is connected to the state database, and is not a host of this inventory`,
        ];
      if (anyWrite)
        return [`a node on ${address} writes to the state database, which only a synchronizer does`];
      return stoppedAddresses.has(address) && !onlyReads
        ? [
            `a node on ${address}, which could not be checked, is connected to the state database and may be writing`,
          ]
        : [];
    });
  return found.length === 0 ? ok : drift(found.join('; '));
}

/** The addresses that hosts connect from, with names resolved on this host. */
async function resolveAddresses(host: Reader, others: Deployment['hosts']): Promise<ReadonlySet<string>> {
  const addresses = others.flatMap((each) => [each.connection.address, ...addressesOf(each)]);
  const names = [...new Set(addresses)].filter((address) => isIP(address) === 0 && !address.includes('/'));
  const output = names.length === 0 ? undefined : await host.$`getent ahosts ${names}`;
  return new Set([...addresses, ...(output?.lines() ?? []).map((line) => line.split(' ')[0] ?? '')]);
}

/** Matches a query that writes, such as `INSERT INTO state.block` or `UPDATE state.sync_info`. */
const writePattern = String.raw`^\s*(insert|update|delete|copy|merge|truncate|create|alter|drop)\M|^\s*with\M.*\m(insert\s+into|update|delete\s+from)\M`;
const readPattern = String.raw`^\s*(select|show)\M`;

/**
 * The clients that connect by TCP as the node's database user, without an application name, by
 * their addresses. Of the node's components only a synchronizer writes. A session shows only its
 * newest query, so pg_stat_activity is sampled several times. Within one statement its snapshot
 * has to be cleared before each sample.
 *
 * @returns whether any session of an address writes, and whether every sampled query was a select
 * or a show
 */
async function readClients(host: Reader, state: SqlTarget, samples: number) {
  const result = await host.sql(
    state,
    `select host(a.client_addr),
       bool_or(a.backend_xid is not null or a.query ~* ${sqlLiteral(writePattern)}),
       bool_and(a.query ~* ${sqlLiteral(readPattern)})
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
    address ? [{ address, anyWrite: writes === 't', onlyReads: reads === 't' }] : [],
  );
}

/** The parts of `docker inspect` that are used. A network of another form is ignored. */
const inspected = z.object({ NetworkSettings: z.object({ Networks: z.record(z.string(), z.unknown()) }) });
const network = z.object({ IPAddress: z.ipv4(), IPPrefixLen: z.int().min(0).max(32) });

/**
 * Whether an IPv4 address is in one of the container's networks or loopback, so one of our
 * components or this host.
 */
function isInNetworkOf(container: Pick<ContainerState, 'raw'> | undefined, address: string): boolean {
  if (address === '127.0.0.1' || address === '::1') return true;
  const networks = Object.values(inspected.safeParse(container?.raw).data?.NetworkSettings.Networks ?? {});
  const list = new BlockList();
  for (const each of networks) {
    const { data } = network.safeParse(each);
    if (data) list.addSubnet(data.IPAddress, data.IPPrefixLen);
  }
  return list.check(address);
}
