import type { Context } from '../../engine/resource/role.ts';
import { type Probe, probesOf } from '../variables/probes.ts';
import type { Variables } from '../variables/variables.ts';
import { monitorFolder } from './accepted-file.ts';

type Hosts = Context<Variables>['hosts'];

/** Where the monitor has the certificate of the gateways. */
export const certificatePath = ({ instance }: Probe) => `${monitorFolder}/${instance}.pem`;

/**
 * The configuration of blackbox_exporter: a module for each address that is asked, with its name.
 * In JSON, which is YAML as well.
 *
 * @param pem where the given certificate of an address is; a certificate by ACME has its issuer
 * among the system's
 */
export function proberFile(hosts: Hosts, pem = certificatePath): string {
  const modules = probesOf(hosts).map((probe) => [
    probe.instance,
    {
      prober: 'http',
      timeout: '10s',
      http: {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
        follow_redirects: false,
        // An error of JSON-RPC has the status 200.
        fail_if_body_not_matches_regexp: ['"result" *: *"0x[0-9a-f]+"'],
        ...(probe.serverName && {
          tls_config: {
            server_name: probe.serverName,
            // The gateways' own authority may be known to their clients alone.
            ...(probe.certificate && { ca_file: pem(probe) }),
          },
        }),
      },
    },
  ]);
  return `${JSON.stringify({ modules: Object.fromEntries(modules) }, undefined, 2)}\n`;
}
