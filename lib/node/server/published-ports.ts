import type { Reader } from '../../engine/host/host.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { listeningPorts } from '../../engine/resource/network/listening.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';

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

/** Whether only the container that a port is for listens on it. The commands name no port, so all ports share one of each. */
export async function portIsFree(host: Reader, { port, container }: PublishedPort): Promise<Verdict> {
  const [listening, publishing] = await Promise.all([
    // Without ss, the kernel's own table shows that something listens, but not which process.
    host.$`if command -v ss >/dev/null; then ss -Hlntp; else cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; fi`,
    // A stopped engine publishes nothing, and docker ps would start it.
    host.$`systemctl is-active --quiet docker.service && docker ps --format ${'{{.Names}} {{.Ports}}'}`,
  ]);
  const here = listening.lines().filter((line) => listensOn(line, port));
  const publishers = publishing.ok ? publishersOf(publishing.lines(), port) : [];
  const others = publishers.filter((name) => name !== container);
  if (others.length > 0) return drift(`port ${port} is held by the container ${others.join(' and ')}`);
  if (here.length === 0 || publishers.includes(container)) return ok;
  // A line of `ss -lntp` ends with the processes: users:(("nginx",pid=812,fd=6))
  const processes = [...here.join().matchAll(/\("([^"]*)",pid=(\d+)/g)].map(
    ([, name, pid]) => `${name} (process ${pid})`,
  );
  return drift(`port ${port} is held by ${[...new Set(processes)].join(' and ') || 'an unknown process'}`);
}

/** @param line of `ss -lnt`, or of /proc/net/tcp */
function listensOn(line: string, port: number): boolean {
  const [state, , , local] = line.split(/\s+/);
  return state === 'LISTEN' ? local?.endsWith(`:${port}`) === true : listeningPorts(line).has(port);
}

/**
 * The containers that publish a TCP port of the host.
 *
 * @param lines of a name and `0.0.0.0:5432->5432/tcp, :::8000-8005->8000-8005/tcp, 9091/tcp`; a port without an arrow is not published
 */
function publishersOf(lines: readonly string[], port: number): string[] {
  return lines.flatMap((line) => {
    const [name = '', ...published] = line.split(/,? /);
    const found = published.some((text) => {
      const [, first, last = first] = /:(\d+)(?:-(\d+))?->[\d-]+\/tcp$/.exec(text) ?? [];
      return Number(first) <= port && port <= Number(last);
    });
    return found ? [name] : [];
  });
}
