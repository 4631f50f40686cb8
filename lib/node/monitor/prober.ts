import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { monitoringPorts } from '../variables/monitoring.ts';
import { type Probe, probesOf } from '../variables/probes.ts';
import type { Variables } from '../variables/variables.ts';
import { acceptedByItsChecker, monitorFolder } from './accepted-file.ts';
import { packageUnit } from './package-unit.ts';

type Hosts = Context<Variables>['hosts'];

/** Of the same certificate as the gateways have. */
const certificatePath = ({ instance }: Probe) => `${monitorFolder}/${instance}.pem`;

/**
 * blackbox_exporter, by which Prometheus asks the gateways as their clients do. Without gateways
 * there is none.
 */
export function proberRuns({ hosts }: Context<Variables>): Resource[] {
  const probes = probesOf(hosts);
  if (probes.length === 0) return [];
  const path = `${monitorFolder}/blackbox.yml`;
  const given = probes.flatMap((probe) =>
    probe.certificate ? [file(certificatePath(probe)).content(probe.certificate)] : [],
  );
  const configuration = acceptedByItsChecker({
    name: 'blackbox.yml',
    content: proberFile(hosts),
    judge: ['prometheus-blackbox-exporter', '--config.check', '--config.file'],
    source: 'the gateways of the inventory',
  });
  return packageUnit({
    name: 'prometheus-blackbox-exporter',
    options: [`--config.file=${path}`, `--web.listen-address=127.0.0.1:${monitoringPorts.prober}`],
    // It reads certificates at each request.
    reads: [path],
    before: [...given, configuration],
  });
}

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
