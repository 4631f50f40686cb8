import type { Reader } from '../../engine/host/host.ts';
import { listeningPorts } from '../../engine/resource/network/listening.ts';
import { drift, ok, unknownUntil, type Verdict } from '../../engine/resource/resource.ts';

/** A TCP port of the host, and the container that it is published for. */
export interface PublishedPort {
  readonly port: number;
  readonly container: string;
}

/** The program of Docker that listens on a port for a container. */
const proxy = 'docker-proxy';

/** A container's name, and the ports that it is configured to publish: `/db 5432/tcp=5432`. */
const bindings =
  '{{.Name}}{{range $port, $all := .HostConfig.PortBindings}}{{range $all}} {{$port}}={{.HostPort}}{{end}}{{end}}';

/**
 * Whether only the container that a port is for listens on it. The commands name no port, so all
 * ports share one of each. While an engine starts its containers, or is stopped and leaves them
 * running, it is not known whose a port is. A container that restarts has a port some moments before
 * and after the engine shows it: then its configuration says that the port is its own.
 */
export async function portIsFree(host: Reader, { port, container }: PublishedPort): Promise<Verdict> {
  const [listening, publishing, engine] = await Promise.all([
    // Without ss, the kernel's own table shows that something listens, but not which process.
    host.$`if command -v ss >/dev/null; then ss -Hlntp; else cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; fi`,
    // A stopped engine publishes nothing, and docker ps would start it.
    host.$`systemctl is-active --quiet docker.service && docker ps --format ${'{{.Names}} {{.Ports}}'}`,
    host.unit('docker.service'),
  ]);
  const here = listening.lines().filter((line) => listensOn(line, port));
  const publishers = publishing.ok ? publishersOf(publishing.lines(), port) : [];
  const others = publishers.filter((name) => name !== container);
  if (others.length > 0) return drift(`port ${port} is held by the container ${others.join(' and ')}`);
  if (here.length === 0 || publishers.includes(container)) return ok;
  // A line of `ss -lntp` ends with the processes: users:(("nginx",pid=812,fd=6))
  const processes = [...here.join().matchAll(/\("([^"]*)",pid=(\d+)/g)];
  const isOfContainer = processes.every(([, name]) => name === proxy);
  if (!publishing.ok && engine.load !== 'not-found' && isOfContainer)
    return unknownUntil('docker says which container has which port');
  if (publishing.ok && processes.length > 0 && isOfContainer) {
    const configured = await host.$`docker inspect --format ${bindings} $(docker ps --quiet --all)`;
    if (isConfigured(configured.lines(), container, port)) return ok;
  }
  const shown = [...new Set(processes.map(([, name, pid]) => `${name} (process ${pid})`))];
  return drift(`port ${port} is held by ${shown.join(' and ') || 'an unknown process'}`);
}

/**
 * @param line of `ss -lnt`, or of /proc/net/tcp
 */
function listensOn(line: string, port: number): boolean {
  const [state, , , local] = line.split(/\s+/);
  return state === 'LISTEN' ? local?.endsWith(`:${port}`) === true : listeningPorts(line).has(port);
}

/**
 * @param lines of `bindings`
 */
function isConfigured(lines: readonly string[], container: string, port: number): boolean {
  const [, ...own] = lines.map((line) => line.split(' ')).find(([name]) => name === `/${container}`) ?? [];
  return own.some((binding) => binding.endsWith(`/tcp=${port}`));
}

/**
 * The containers that publish a TCP port of the host.
 *
 * @param lines of a name and `0.0.0.0:5432->5432/tcp, :::8000-8005->8000-8005/tcp, 9091/tcp`; a
 * port without an arrow is not published
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
