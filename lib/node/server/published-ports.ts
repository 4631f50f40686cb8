import type { Reader } from '../../engine/host/host.ts';
import { listeningPorts } from '../../engine/resource/network/listening.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';

/** A TCP port of the host, and the container that it is published for. */
export interface PublishedPort {
  readonly port: number;
  readonly container: string;
}

/** Whether nothing listens on a port but the container that it is for. What is asked names no port, so for all of them it is asked once. */
export async function portIsFree(host: Reader, { port, container }: PublishedPort): Promise<Verdict> {
  const [listening, publishing] = await Promise.all([
    // Without ss the kernel's own table still tells that something listens, though not what.
    host.$`if command -v ss >/dev/null; then ss -Hlntp; else cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; fi`,
    // A stopped engine publishes nothing, and asking would start it.
    host.$`systemctl is-active --quiet docker.service && docker ps --format ${'{{.Names}} {{.Ports}}'}`,
  ]);
  const here = listening.lines().filter((line) => listensOn(line, port));
  return portVerdict(here.join('\n'), publishing.ok ? publishersOf(publishing.stdout, port) : [], { port, container });
}

/** @param line of `ss -lnt`, or of /proc/net/tcp */
function listensOn(line: string, port: number): boolean {
  const [state, , , local] = line.split(/\s+/);
  return state === 'LISTEN' ? local?.endsWith(`:${port}`) === true : listeningPorts(line).has(port);
}

/**
 * The containers that publish a TCP port of the host.
 *
 * @param list lines of a name and `0.0.0.0:5432->5432/tcp, :::8000-8005->8000-8005/tcp, 9091/tcp`; what only the container's own network
 *   sees has no arrow
 */
export function publishersOf(list: string, port: number): string[] {
  return list.split('\n').flatMap((line) => {
    const [name = '', ...published] = line.split(/,? /);
    const found = published.some((text) => {
      const [, first, last = first] = /:(\d+)(?:-(\d+))?->[\d-]+\/tcp$/.exec(text) ?? [];
      return Number(first) <= port && port <= Number(last);
    });
    return found ? [name] : [];
  });
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
