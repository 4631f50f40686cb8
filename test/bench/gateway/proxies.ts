import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadDeployment } from '../../../lib/node/inventory/inventory.ts';
import { writeLabDeployment } from '../../../lib/node/testing/written-lab-deployment.ts';
import { get, startGateway, until } from '../../gateway/gateway.ts';

/** A program between clients and RPC hosts, on loopback. */
export interface Proxy {
  readonly port: number;
  /** Seconds of processor time of all its processes so far. */
  processorSeconds(): number;
  stop(): Promise<void>;
}

/** Addresses of the two RPC hosts, and the ports of the proxies. */
const hosts = ['127.0.9.1', '127.0.9.2'];
const rpcPort = 28306;
const ports = { ours: 28300, haproxy: 28304, nginx: 28305 };

/** By this header of a request an RPC host sends its large answer: 1 MB. */
export const largeAnswer = 'X-Answer: large';

/** A block, so that the gateway judges each host as one that may serve. */
const block = { number: '0x3e8', hash: `0x${'a'.repeat(64)}`, parentHash: `0x${'b'.repeat(64)}` };
const answerOf = (more: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: { ...block, ...more } });

/**
 * Starts nginx in place of the RPC hosts: it answers as fast as a machine can, so that the proxies
 * are measured.
 *
 * @param folder for its files
 */
export async function startRpcHosts(folder: string): Promise<{ stop(): Promise<void> }> {
  mkdirSync(join(folder, 'answers'));
  writeFileSync(join(folder, 'answers/small'), answerOf({}));
  writeFileSync(join(folder, 'answers/large'), answerOf({ logs: 'f'.repeat(1e6) }));
  const listens = hosts.map((address) => `listen ${address}:${rpcPort} backlog=4096;`).join(' ');
  const nginx = await startNginx(folder, 'hosts', 1, {
    maps: 'map $http_x_answer $answer { default small; large large; }',
    // nginx takes a POST for a file if its error of another method is answered by the file.
    server: `${listens} root ${folder}/answers; default_type application/json; error_page 405 =200 /$answer;
      location / { try_files /$answer =404; }`,
  });
  await until(async () => (await ask(rpcPort, hosts[0])).includes('0x3e8'), 'the RPC hosts answer');
  return nginx;
}

/**
 * The proxies that are compared, each by its start with a number of threads. `folder`: for its
 * files.
 */
export const proxies = {
  'plain HAProxy': startPlain,
  ours: startOurs,
  nginx: (folder: string, threads: number) => {
    const upstream = hosts.map((address) => `server ${address}:${rpcPort};`).join(' ');
    return startNginx(folder, 'proxy', threads, {
      maps: `upstream hosts { ${upstream} keepalive 64; }`,
      server: `listen 127.0.0.1:${ports.nginx} backlog=4096; client_max_body_size 0;
        location / { proxy_pass http://hosts; proxy_http_version 1.1; proxy_set_header Connection ""; }`,
    });
  },
} as const satisfies Record<string, (folder: string, threads: number) => Promise<Proxy>>;

async function startPlain(folder: string, threads: number): Promise<Proxy> {
  const file = join(folder, 'plain.cfg');
  const servers = hosts.map((address, at) => `  server rpc-${at + 1} ${address}:${rpcPort}`).join('\n');
  writeFileSync(
    file,
    `global
  nbthread ${threads}
  fd-hard-limit 65536
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
frontend rpc
  bind 127.0.0.1:${ports.haproxy}
  default_backend hosts
backend hosts
${servers}
`,
  );
  const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  return ready(haproxy, ports.haproxy);
}

async function startOurs(folder: string, threads: number): Promise<Proxy> {
  const { hosts: all } = await loadDeployment(writeInventory(folder));
  const host = all.find(({ name }) => name === 'gw-1');
  if (!host) throw new Error('no gateway');
  const gateway = await startGateway({ host, vars: host.vars, hosts: all }, (text) =>
    text.replace(/^global\n( +nbthread .*\n)?/m, (start) =>
      start.includes('nbthread') ? start : `${start}    nbthread ${threads}\n`,
    ),
  );
  const pid = gateway.pid ?? 0;
  return {
    port: ports.ours,
    processorSeconds: () => processorSeconds(pid),
    stop: () => gateway.kill(),
  };
}

/** The lab's inventory, with a gateway and RPC hosts on loopback, and limits that no load meets. */
function writeInventory(folder: string): string {
  const rpc = hosts.map((address, at) => [`rpc-${at + 1}`, { address }]);
  return writeLabDeployment(folder, [
    [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
    [['groups', 'rpc'], Object.fromEntries(rpc)],
    [['groups', 'gateway'], { 'gw-1': { address: '127.0.9.101' } }],
    [['vars', 'ports'], { rpc_http: rpcPort }],
    [
      ['vars', 'gateway'],
      {
        ...{ http: ports.ours, websocket: 28301, metrics: 28302, peers: 28303 },
        clients: { requests: 1_000_000, connections: 100_000 },
      },
    ],
  ]);
}

/**
 * @param name of its own file of configuration
 * @param threads that nginx has as processes
 * @param lines of the configuration: in `http`, and in `server`
 */
async function startNginx(
  folder: string,
  name: string,
  threads: number,
  { maps, server }: { readonly maps: string; readonly server: string },
): Promise<Proxy> {
  const file = join(folder, `${name}.conf`);
  writeFileSync(
    file,
    `daemon off; master_process on; user root; worker_processes ${threads}; pid ${folder}/${name}.pid;
error_log stderr crit;
events { worker_connections 16384; }
http { access_log off; client_body_buffer_size 256k; keepalive_requests 1000000; client_body_temp_path ${folder}/${name}-body;
  proxy_temp_path ${folder}/${name}-proxy; fastcgi_temp_path ${folder}/${name}-1; uwsgi_temp_path ${folder}/${name}-2;
  scgi_temp_path ${folder}/${name}-3; ${maps} server { ${server} } }
`,
  );
  const nginx = spawn('nginx', ['-c', file, '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'inherit'] });
  return ready(nginx, ports.nginx, name === 'hosts' ? hosts[0] : undefined);
}

async function ready(child: ChildProcess, port: number, address = '127.0.0.1'): Promise<Proxy> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const at = address === '127.0.0.1' ? port : rpcPort;
  await until(
    async () => child.exitCode !== null || (await ask(at, address)).length > 0,
    `port ${at} answers`,
  );
  if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
  return {
    port: at,
    processorSeconds: () => processorSeconds(child.pid ?? 0),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function ask(port: number, address = '127.0.0.1'): Promise<string> {
  return (
    await get({ port, address, body: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] } })
  ).text;
}

/** Of a process and its children, from /proc/PID/stat (proc(5): utime and stime, in ticks). */
function processorSeconds(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const ticks = [String(pid), ...(children === '' ? [] : children.split(' '))].map((one) => {
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / 100;
}
