import { refusedPorts } from '../../engine/resource/network/refused-ports.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { monitoringPorts } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';
import { ownAccesses } from './firewall.ts';
import { rulesPrefix } from './packet-rules.ts';

/**
 * What the deployment listens on is not refused by other rules of the host: behind those of a ufw
 * a gateway serves nobody, two keepalived both take the shared address, and a monitor sees no host.
 */
export function ownRulesLetIn(context: Context<Variables>): Resource[] {
  const { groups } = context.host;
  const postgres = String(monitoringPorts.postgres);
  const needed = ownAccesses(context)
    .filter(({ sources }) => sources.length > 0)
    .map(({ ports, ...more }) => ({
      ...more,
      ports: ports.filter(({ published }) => published !== postgres || groups.includes('database')),
    }));
  if (needed.length === 0) return [];
  return [
    expectation('other rules of the host let the ports of the deployment through', {
      severity: 'should',
      async check(host) {
        const refused = refusedPorts((await host.$`iptables --wait=60 -S`).stdout, rulesPrefix, needed);
        return refused.length === 0 ? ok : drift(`they refuse ${refused.join(', ')}`);
      },
      hint: 'a ufw: ufw allow 443/tcp, or ufw allow proto tcp from ADDRESS to any port 9100 (protocol 112: ufw allow proto vrrp from ADDRESS). Rules of iptables, as in images of Oracle: iptables -I INPUT -p tcp --dport 443 -j ACCEPT, and netfilter-persistent save',
    }),
  ];
}
