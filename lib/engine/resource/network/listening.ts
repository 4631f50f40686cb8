import { reachedBy } from '../docker/compose-service.ts';
import { drift, ok, unknownUntil } from '../resource.ts';

/** The state LISTEN in /proc/net/tcp. */
const listenState = '0A';

/**
 * The program of a container listens on these TCP ports. They are read in the network of the
 * container: the published ports of the host accept connections as soon as the container exists.
 *
 * @param seconds how long the program may take
 */
export function containerListens(
  container: string,
  ports: readonly number[],
  seconds: number,
  hint?: string,
) {
  return reachedBy(
    container,
    `${container} listens on ${ports.join(' and ')}`,
    async (host) => {
      const table = await host.$`
        pid=$(docker inspect --format ${'{{.State.Pid}}'} ${container} 2>/dev/null) && [ "$pid" -gt 0 ] && cat /proc/"$pid"/net/tcp /proc/"$pid"/net/tcp6 2>/dev/null`;
      const open = listeningPorts(table.stdout);
      if (table.stdout.trim() === '') return unknownUntil(`${container} is running`);
      const missing = ports.filter((port) => !open.has(port));
      return missing.length === 0 ? ok : drift(`${container} does not listen on ${missing.join(' and ')}`);
    },
    { seconds, ...(hint !== undefined && { hint }) },
  );
}

/**
 * @param table /proc/net/tcp: number of the line, own `ADDRESS:PORT`, the peer's, and the state,
 * in hexadecimal
 */
export function listeningPorts(table: string): Set<number> {
  const ports = new Set<number>();
  for (const line of table.split('\n')) {
    const [, local, , state] = line.trim().split(/\s+/);
    const port = local?.split(':')[1];
    if (state === listenState && port) ports.add(Number.parseInt(port, 16));
  }
  return ports;
}
