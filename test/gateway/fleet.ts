import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import type { RenderContext } from '../../lib/node/render/render-context.ts';
import { type Changes, labDeployment } from '../../lib/node/testing/lab-deployment.ts';

/** Of the RPC hosts, and of the gateway in front of them. */
export const rpcPorts = { http: 28123, websocket: 28133 };
export const ports = { http: 28200, websocket: 28201, metrics: 28202, peers: 28203 };

/** A gateway in front of RPC hosts on this machine. */
export async function gatewayContext(
  rpc: Readonly<Record<string, object>>,
  gateway: object,
  changes: Changes = [],
): Promise<RenderContext> {
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '127.0.7.100'],
    [['groups', 'rpc'], rpc],
    [['groups', 'gateway'], { 'gw-1': { address: '127.0.7.101' } }],
    [['vars', 'ports'], { rpc_http: rpcPorts.http, rpc_websocket: rpcPorts.websocket }],
    [['vars', 'gateway'], { ...ports, ...gateway }],
    [['vars', 'state_db', 'max_connections'], 2000],
    ...changes,
  ]);
  const { hosts } = await loadDeployment(inventory);
  const host = hosts.find(({ name }) => name === 'gw-1');
  if (!host) throw new Error('no gateway');
  return { host, vars: host.vars, hosts };
}
