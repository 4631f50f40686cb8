import { $ } from 'zx';
import { indexes } from '../../lib/node/render/testdata/specification/indexes.ts';

/** The hosts of the embedded lab. */
export const labHosts = ['db-1', 'rpc-1', 'rpc-2'] as const;
export type LabHost = (typeof labHosts)[number];

/** The containers of each host after a deploy. */
export const containersOf: Readonly<Record<LabHost, readonly string[]>> = {
  'db-1': ['state-db', 'prover', 'pool-db', 'sync'],
  'rpc-1': ['prover', 'pool-db', 'json-rpc'],
  'rpc-2': ['prover', 'pool-db', 'json-rpc'],
};

const quiet = $({ quiet: true, nothrow: true, maxBuffer: 256 * 1024 * 1024 } as object);

/**
 * Runs a script on a lab host as root, without the tool's own connection.
 *
 * @throws Error when it fails
 */
export async function onHost(host: string, script: string): Promise<string> {
  const result = await quiet({ input: script })`docker exec -i rpc-lab-${host} sh -e`;
  if (!result.ok) throw new Error(`on ${host}: ${script}\nexited with ${result.exitCode}: ${result.stderr}`);
  return result.stdout.trim();
}

/**
 * Everything that a run may change on a host: files with mode, owner, time and checksum, packages,
 * units, containers, time zone. Without changes that a host makes itself at any moment: logs,
 * caches, /run, and data of running services.
 */
export function listing(host: string): Promise<string> {
  return onHost(
    host,
    `
    find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /var/log -o -path /tmp \
      -o -path /var/lib/systemd -o -path /var/lib/private -o -path /var/lib/chrony -o -path /var/lib/sudo \
      -o -path /var/lib/docker \\) -prune \
      -o -printf '%p %y %m %U %G %s %T@ %l\\n' | sort
    find /etc /opt /root /home /srv /usr/local -xdev -type f -exec sha256sum {} + | sort -k 2
    ls -la --time-style=full-iso /data
    dpkg -l
    systemctl list-unit-files --no-pager --no-legend
    systemctl list-units --type=service,timer,mount --state=active --no-pager --no-legend --plain | cut -d ' ' -f 1 | grep -v '^user\\|^session\\|^run-credentials'
    readlink /etc/localtime || true
    mount | sort
    if command -v docker >/dev/null; then docker ps -a --no-trunc; docker image ls -a --no-trunc; fi`,
  );
}

/** The running containers of a host, with their start times. */
export function started(host: string): Promise<string> {
  return onHost(
    host,
    `docker inspect --format '{{.Name}} {{.Id}} {{.State.StartedAt}}' $(docker ps -q) | sort`,
  );
}

/** The files that a run may write on a host, with the time of their last change. */
export function files(host: string): Promise<string> {
  return onHost(host, `find /etc /opt /usr -xdev -type f -printf '%p %T@ %m %u %s\\n' | sort`);
}

/**
 * Queries the pool database of a host without the tool.
 *
 * @returns rows, one per line
 */
export function poolSql(host: string, query: string): Promise<string> {
  return onHost(
    host,
    `docker exec -i pool-db sh -c 'psql -XqAtU "$POSTGRES_USER" -d "$POSTGRES_DB"' <<'SQL'\n${query}\nSQL`,
  );
}

/**
 * Queries the state database without the tool.
 *
 * @returns rows, one per line
 */
export function stateSql(query: string): Promise<string> {
  return onHost(
    'db-1',
    `docker exec -i state-db sh -c 'psql -XqAtU "$POSTGRES_USER" -d "$POSTGRES_DB"' <<'SQL'\n${query}\nSQL`,
  );
}

/** Names of the required additional indexes of the state database. */
export const specifiedIndexes = indexes.map(([name]) => name);

/** Names of all its indexes. */
export async function stateIndexes(): Promise<string[]> {
  return (await stateSql(`select indexname from pg_indexes where schemaname = 'state'`)).split('\n');
}

/**
 * A JSON-RPC call to a port of a host, from the host itself.
 *
 * @returns its result
 */
export async function rpc(host: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await onHost(
    host,
    `curl -sS -m 10 -H 'Content-Type: application/json' -d '${body}' http://127.0.0.1:8123/`,
  );
  return (JSON.parse(answer) as { result: unknown }).result;
}

/** The newest block that a host's json-rpc knows. */
export async function blockNumber(host: string): Promise<number> {
  return Number(await rpc(host, 'eth_blockNumber'));
}
