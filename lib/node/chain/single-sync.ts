import { isIP } from 'node:net';
import * as z from 'zod';
import type { ContainerState, Reader, SqlResult, SqlTarget } from '../../engine/host/host.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import { sqlLiteral, unknownWithoutAnswer } from '../databases/postgres.ts';

/**
 * Nothing but our own hosts may use the state database as the node does: two synchronizers on one database corrupt it. The node
 * gives no application name, which tells it from an operator's psql; components on our own hosts are told by where they come from.
 *
 * @param addresses of all hosts of the inventory, names or IP addresses
 */
export function noForeignSynchronizer(state: SqlTarget, addresses: readonly string[]): Resource {
  const names = [...new Set(addresses)].filter((address) => isIP(address) === 0);
  return expectation(
    'no other synchronizer uses the state database',
    async (host) => {
      const [container, clients, resolved] = await Promise.all([
        host.container(state.container),
        readClients(host, state),
        names.length === 0 ? '' : host.$`getent ahosts ${names} || :`.then((output) => output.stdout),
      ]);
      if (!clients.ok) return unknownWithoutAnswer(state.container, container, clients.error);
      const known = new Set([...addresses, ...resolved.split('\n').map((line) => line.split(' ')[0] ?? '')]);
      const addressesOfClients = clients.rows.flatMap(([address]) => address ?? []);
      const foreign = addressesOfClients.filter((each) => !known.has(each) && !isInNetworkOf(container, each));
      if (foreign.length === 0) return ok;
      return drift(`a node on ${foreign.join(', ')} is connected to it, and that is no host of this inventory`);
    },
    {
      hint: `stop the node there, an RPC server's too: two synchronizers on one state database corrupt it. One that is stopped or gone may have left its sessions; end them: docker exec ${state.container} psql -U ${state.user} -d ${state.database} -c "select pg_terminate_backend(pid) from pg_stat_activity where client_addr = 'ADDRESS'"`,
    },
  );
}

/** Addresses of clients that come by TCP, connect as the node does and give no application name. */
function readClients(host: Reader, state: SqlTarget): Promise<SqlResult> {
  return host.sql(
    state,
    `select distinct host(client_addr) from pg_stat_activity
     where datname = ${sqlLiteral(state.database)} and usename = ${sqlLiteral(state.user)}
       and client_addr is not null and coalesce(application_name, '') = ''`,
  );
}

/** Of the engine's document; a network of another form is none. */
const inspected = z.object({ NetworkSettings: z.object({ Networks: z.record(z.string(), z.unknown()) }) });
const network = z.object({ IPAddress: z.string(), IPPrefixLen: z.int().min(0).max(32) });

/** Whether an IPv4 address is in one of the container's own networks: our own components, or this host itself. */
export function isInNetworkOf(container: Pick<ContainerState, 'raw'> | undefined, address: string): boolean {
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
