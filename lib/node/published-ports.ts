import type { Reader } from '../host/host.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import { drift, ok, type Verdict } from '../resource/resource.ts';
import type { Variables } from './variables.ts';

/** A port of the mapping table (spec part 2, container definitions), and the container that it is published for. */
export interface PublishedPort {
  readonly port: number;
  readonly container: string;
}

/** The ports that a host publishes, by what runs on it (spec part 1, server roles). */
export function publishedPorts({
  groups,
  vars: { ports },
}: Pick<InventoryHost<Variables>, 'groups' | 'vars'>): PublishedPort[] {
  const database = [
    { port: ports.state_db, container: 'state-db' },
    { port: ports.sync_metrics, container: 'sync' },
  ];
  const rpc = [
    { port: ports.rpc_http, container: 'json-rpc' },
    { port: ports.rpc_websocket, container: 'json-rpc' },
    { port: ports.rpc_metrics, container: 'json-rpc' },
  ];
  return [
    ...(groups.includes('database') ? database : []),
    { port: ports.pool_db, container: 'pool-db' },
    { port: ports.prover_hash_db, container: 'prover' },
    { port: ports.prover_executor, container: 'prover' },
    ...(groups.includes('rpc') ? rpc : []),
  ];
}

/** Whether nothing listens on a port but the container that it is for. */
export async function portIsFree(host: Reader, { port, container }: PublishedPort): Promise<Verdict> {
  const hexadecimal = port.toString(16).toUpperCase().padStart(4, '0');
  const [listening, publishing] = await Promise.all([
    // Without ss the kernel's own table still tells that something listens, though not what.
    host.$`if command -v ss >/dev/null; then ss -Hlntp ${`sport = :${port}`}
      else cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk ${`$4 == "0A" && $2 ~ /:${hexadecimal}$/`}; fi`,
    // A stopped engine publishes nothing, and asking would start it.
    host.$`systemctl is-active --quiet docker.service && docker ps --filter ${`publish=${port}`} --format ${'{{.Names}}'}`,
  ]);
  return portVerdict(listening.stdout, publishing.ok ? publishing.lines() : [], { port, container });
}

/**
 * @param listening lines of `ss -lntp` for the port, which end with the processes: `users:(("nginx",pid=812,fd=6))`
 * @param publishing names of the containers that publish the port
 */
export function portVerdict(
  listening: string,
  publishing: readonly string[],
  { port, container }: PublishedPort,
): Verdict {
  const others = publishing.filter((name) => name !== container);
  if (others.length > 0) return drift(`port ${port} is held by the container ${others.join(' and ')}`);
  if (listening.trim() === '' || publishing.includes(container)) return ok;
  const processes = [...listening.matchAll(/\("([^"]*)",pid=(\d+)/g)].map(
    ([, name, pid]) => `${name} (process ${pid})`,
  );
  return drift(`port ${port} is held by ${[...new Set(processes)].join(' and ') || 'a process that cannot be told'}`);
}
