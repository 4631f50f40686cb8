import { createHash } from 'node:crypto';
import { basename } from 'node:path/posix';
import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import type { RenderContext } from '../render/render-context.ts';
import { filledTemplate, haproxyTemplate, judgingScript } from '../server/haproxy-files.ts';
import { challengePort, isChallengedByHttp } from '../variables/acme.ts';
import { addressesOf } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { connectionRules, requestRules } from './client-rules.ts';
import { fallbackPath, fallbackRules } from './fallback-rules.ts';
import { keyNames, keyRules } from './key-rules.ts';
import { monitorRules } from './monitor-rules.ts';
import {
  addressProgram,
  certificateFile,
  chroot,
  fallbackFile,
  gatewayFolder,
  keysFile,
  requestsFile,
  servingFile,
} from './paths.ts';
import { plainBatch, plainCall, plainMap } from './plain-calls.ts';
import { plainRules, requestsOfKeys } from './plain-rules.ts';
import { rulesFile } from './rules.ts';

/** A file of the gateway. */
export interface GatewayFile {
  readonly path: string;
  readonly content: Content | string;
}

type Hosts = RenderContext['hosts'];

/**
 * Of a buffer, beside the body: 32768 bytes of headers, 4096 of the request line, and what HAProxy
 * itself takes. Bytes.
 */
const roomForHeaders = 42_144;

/**
 * The files of HAProxy on one gateway, from templates/gateway: its configuration, the scripts that
 * decide which RPC hosts may serve and judge what clients ask, the rules for that, and a given
 * certificate with its key. One by ACME never is on this machine.
 *
 * @returns the files, and the hash of all of them, by which the running HAProxy names its
 * configuration
 */
export function gatewayFiles(context: RenderContext): { files: readonly GatewayFile[]; hash: string } {
  const scripts = [
    { path: `${gatewayFolder}/fleet.lua`, content: judgingScript('gateway/fleet.lua') },
    ...['figures.lua', 'calls.lua', 'requests.lua', 'messages.lua'].map((name) => ({
      path: `${gatewayFolder}/${name}`,
      content: haproxyTemplate(`gateway/${name}`),
    })),
  ];
  const rules = {
    path: `${gatewayFolder}/rules.lua`,
    content: rulesFile({ gateway: context.vars.gateway, hosts: context.hosts }),
  };
  const values = valuesOf(context);
  const serving = { path: servingFile, content: '# Filled by fleet.lua, in memory alone.\n' };
  const requests = requestsOfKeys(context.vars.gateway);
  const expressions = [
    { path: `${gatewayFolder}/plain-call.map`, content: plainMap(plainCall) },
    { path: `${gatewayFolder}/plain-batch.map`, content: plainMap(plainBatch) },
  ];
  const maps = [
    serving,
    ...expressions,
    ...(requests === '' ? [] : [{ path: requestsFile, content: requests }]),
  ];
  const plain = [...scripts, rules, ...maps];
  const secrets = secretFiles(context.vars.gateway);
  const parts = [
    filledTemplate('gateway/haproxy.cfg', { ...values, hash: '' }),
    ...plain.map(({ content }) => content),
  ];
  const all = [...parts, ...secrets.map(({ content }) => content.text)].join('\0');
  const hash = createHash('sha256').update(all).digest('hex').slice(0, 16);
  const main = {
    path: `${gatewayFolder}/haproxy.cfg`,
    content: filledTemplate('gateway/haproxy.cfg', { ...values, hash }),
  };
  return { files: [main, ...plain, ...secrets], hash };
}

/** The files in which every line may be a secret. */
function secretFiles(gateway: Variables['gateway']): { path: string; content: Content }[] {
  const { tls } = gateway;
  const texts: [path: string, text: string][] = [
    [keysFile, keyNames(gateway)],
    [fallbackFile, fallbackPath(gateway)],
  ];
  if (tls && 'key' in tls) {
    texts.push([certificateFile(tls), `${tls.certificate.trim()}\n${tls.key.reveal().trim()}\n`]);
  }
  return texts
    .filter(([, text]) => text !== '')
    .map(([path, text]) => ({ path, content: secretContent(text, /./) }));
}

/**
 * The configuration of keepalived, for an address that one of the gateways has; undefined without
 * such an address.
 */
export function sharedAddressFile({ host, vars, hosts }: RenderContext): string | undefined {
  const { shared } = vars.gateway;
  if (!shared) return undefined;
  const gateways = hostsIn(hosts, 'gateway');
  const router = Number(/(\d+)\/\d+$/.exec(shared.address)?.[1]) || 1;
  const others = gateways.filter(({ name }) => name !== host.name);
  return filledTemplate('gateway/keepalived.conf', {
    interface: shared.interface,
    address: shared.address,
    // A number from 1 to 255 that others on this network do not have: the last of the address.
    router: String(router % 256 || 1),
    priority: String(200 - gateways.findIndex(({ name }) => name === host.name)),
    own: host.connection.address,
    others: indented(
      8,
      others.map(({ connection }) => connection.address),
    ),
    program: addressProgram,
    fleets: [
      `127.0.0.1:${vars.gateway.metrics}`,
      ...others.map((other) => `${inUrl(other.connection.address)}:${other.vars.gateway.metrics}`),
    ].join(' '),
  });
}

function valuesOf({ host, vars, hosts }: RenderContext): Readonly<Record<string, string>> {
  const { gateway, firewall } = vars;
  const { tls } = gateway;
  const isAcme = tls && 'acme' in tls;
  const others = hostsIn(hosts, 'gateway').filter(({ name }) => name !== host.name);
  const peers = (port: (other: Hosts[number]) => number) =>
    indented(
      4,
      others.map((other) => `server ${other.name} ${inUrl(other.connection.address)}:${port(other)}`),
    );
  const gateways = ['127.0.0.1', ...others.flatMap(addressesOf)].join(' ');
  // In rotation, also while another challenge moves it.
  const challenges = {
    name: host.name,
    retries: String(2 * others.length + 2),
    others: peers(() => challengePort),
    gateways,
  };
  // The monitor asks as a client does.
  const monitors = hostsIn(hosts, 'monitor').flatMap(addressesOf);
  const clients = firewall.json_rpc && [...firewall.json_rpc, ...monitors];
  return {
    name: host.name,
    most_behind: String(gateway.most_behind),
    folder: gatewayFolder,
    http: String(gateway.http),
    websocket: String(gateway.websocket),
    metrics: String(gateway.metrics),
    // A given certificate is tried with the other files, in a folder beside their own. certbot's
    // is only in place.
    // Since 2.8 HAProxy would offer HTTP/2.
    tls: tls
      ? ` ssl crt ${isAcme ? certificateFile(tls) : basename(certificateFile(tls))} alpn http/1.1`
      : '',
    // Two years, as browsers' lists want it.
    hsts: tls ? '    http-after-response set-header strict-transport-security max-age=63072000' : '',
    acme: isChallengedByHttp(tls) ? filledTemplate('gateway/acme.cfg', challenges) : '',
    clients: clients ? `    tcp-request connection reject unless { src ${clients.join(' ')} }` : '',
    ...monitorRules(monitors),
    peers_port: String(gateway.peers),
    // In an order that a switch does not change.
    watchers: ['127.0.0.0/8', ...hosts.flatMap(addressesOf).toSorted(), ...firewall.metrics].join(' '),
    peers: peers(({ vars: { gateway: own } }) => own.peers),
    gateways,
    ...clientValues(gateway, hostsIn(hosts, 'rpc')),
  };
}

/** What concerns clients, and the RPC hosts that they get. */
function clientValues(gateway: Variables['gateway'], rpc: Hosts): Readonly<Record<string, string>> {
  // Of all calls, and of each limit of methods.
  const counters = String(1 + Object.keys(gateway.methods.limits).length);
  const ofKeys = keyRules(gateway, counters);
  return {
    client_connections: String(gateway.clients.connections),
    body: String(gateway.clients.body),
    buffer: String(gateway.clients.body + roomForHeaders),
    connection_rules: indented(4, connectionRules(gateway)),
    request_rules: indented(4, requestRules(gateway)),
    counters,
    ...ofKeys,
    ...fallbackRules(gateway),
    ...plainRules(gateway),
    ...serversOf(rpc, ofKeys.key_option),
  };
}

/** The RPC hosts, in each place that names them. */
function serversOf(rpc: Hosts, keyOption: string): Readonly<Record<string, string>> {
  const ids = idsOf(rpc);
  const usual = rpc.filter(({ vars }) => vars.methods !== 'heavy');
  const forHeavy = rpc.filter(({ vars }) => vars.methods === 'heavy');
  const lines = (of: Hosts, addressWith: (host: Hosts[number]) => string) =>
    indented(
      4,
      of.map((host) => `server ${host.name} ${addressWith(host)} id ${ids.get(host.name)}`),
    );
  const byFilter = ({ name }: Hosts[number]) => `${messageSocket('', name)} send-proxy-v2${keyOption}`;
  const binds = usual.map(({ name }) => {
    const address = messageSocket(chroot, name);
    return `bind ${address} name ${name} accept-proxy mode 600 user haproxy`;
  });
  const heights = haproxyTemplate('gateway/heights.cfg').trimEnd();
  const heavy = { heights, servers: lines(forHeavy, addressOf('rpc_http')) };
  return {
    heights,
    http_servers: lines(usual, addressOf('rpc_http')),
    heavy: forHeavy.length > 0 ? filledTemplate('gateway/heavy.cfg', heavy) : '',
    heavy_use: forHeavy.length > 0 ? '    use_backend rpc_heavy if { var(txn.heavy) -m found }' : '',
    websocket_servers: lines(usual, byFilter),
    message_binds: indented(4, binds),
    message_servers: lines(usual, addressOf('rpc_websocket')),
  };
}

/**
 * Ids are by the name: a host that is added does not change those of the others, which the
 * clients' table refers to.
 */
function idsOf(rpc: Hosts): ReadonlyMap<string, number> {
  const taken = new Set<number>();
  return new Map(
    rpc
      .map(({ name }) => name)
      .toSorted()
      .map((name) => {
        let id = (createHash('sha256').update(name).digest().readUInt32BE() % 0x7fffffff) + 1;
        while (taken.has(id)) id += 1;
        taken.add(id);
        return [name, id];
      }),
  );
}

function addressOf(port: keyof Variables['ports']) {
  return ({ connection, vars }: Hosts[number]) => `${inUrl(connection.address)}:${vars.ports[port]}`;
}

/** Where HAProxy judges the messages for an RPC host. It binds before it enters its chroot. */
function messageSocket(root: string, name: string): string {
  return `unix@${root}/messages/${name}.sock`;
}

function hostsIn(hosts: Hosts, group: string): Hosts {
  return hosts.filter(({ groups }) => groups.includes(group));
}

function inUrl(address: string): string {
  return address.includes(':') && !address.includes('/') ? `[${address}]` : address;
}

function indented(columns: number, lines: readonly string[]): string {
  return lines.map((line) => `${' '.repeat(columns)}${line}`).join('\n');
}
