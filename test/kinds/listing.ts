import { $ } from 'zx';

const quiet = $({ quiet: true, maxBuffer: 256 * 1024 * 1024 } as object);

/** Paths that a host changes by itself at any moment: logs, sessions, data of services. */
const restless = [
  '/var/log',
  '/var/lib/systemd',
  '/var/lib/private',
  '/var/lib/docker',
  '/var/lib/containerd',
  '/run/systemd',
  '/run/log',
  '/run/user',
  '/run/docker',
  '/run/containerd',
];

/**
 * Everything that a check could change on a host: files with mode, owner, time, size and checksum,
 * packages, unit files, units, containers and images. Read through the Docker engine, without the
 * connection under test.
 */
export async function listing(container: string): Promise<string[]> {
  const pruned = restless.map((path) => `-path ${path}`).join(' -o ');
  const script = `
    set -e
    places='/ /run /run/lock /data'
    find $places -xdev \\( ${pruned} \\) -prune -o ! -type s -printf '%p %y %m %U %G %s %T@ %l\\n' | sort -u
    find $places -xdev \\( ${pruned} \\) -prune -o -type f -print0 | xargs -0 sha256sum | sort -u -k 2
    dpkg -l
    systemctl list-unit-files --no-pager --no-legend
    systemctl list-units --all --no-pager --no-legend --plain | grep -v 'session\\|user@\\|^run-\\|docker-\\|overlay'
    findmnt -rn -o TARGET,SOURCE,FSTYPE | sort
    if command -v docker >/dev/null; then docker ps -a --no-trunc --format '{{.ID}} {{.State}}'; docker image ls -a --no-trunc -q; fi`;
  const done = await quiet({ input: script })`docker exec --interactive ${container} sh`;
  return done.stdout.split('\n');
}

/** Lines that only one of two listings has. */
export function changesBetween(before: readonly string[], after: readonly string[]): string[] {
  const [old, now] = [new Set(before), new Set(after)];
  return [
    ...before.filter((line) => !now.has(line)).map((line) => `- ${line}`),
    ...after.filter((line) => !old.has(line)).map((line) => `+ ${line}`),
  ];
}
