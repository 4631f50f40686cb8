import type { Reader } from '../../engine/host/host.ts';
import { refusedByTables, refusesContainers } from '../../engine/resource/network/nftables.ts';
import { refusedPorts } from '../../engine/resource/network/refused-ports.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { isWithoutNode, monitoringPorts } from '../variables/monitoring.ts';
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
  return [
    ...(needed.length === 0 ? [] : [letIn(needed)]),
    ...(isWithoutNode(context.host) ? [] : [containersPass]),
  ];
}

function letIn(needed: Parameters<typeof refusedByTables>[1]): Resource {
  return expectation('other rules of the host let the ports of the deployment through', {
    severity: 'should',
    async check(host) {
      const [iptables, tables] = await Promise.all([host.$`iptables --wait=60 -S`, rulesOf(host)]);
      const refused = new Set([
        ...refusedPorts(iptables.stdout, rulesPrefix, needed),
        ...refusedByTables(tables, needed),
      ]);
      return refused.size === 0 ? ok : drift(`they refuse ${[...refused].join(', ')}`);
    },
    hint: 'a ufw: ufw allow 443/tcp, or ufw allow proto tcp from ADDRESS to any port 9100 (protocol 112: ufw allow proto vrrp from ADDRESS). A firewalld: firewall-cmd --permanent --add-port=443/tcp, then firewall-cmd --reload. Tables of nftables: tcp dport 443 accept in their chain, and in /etc/nftables.conf. Rules of iptables, as in images of Oracle: iptables -I INPUT -p tcp --dport 443 -j ACCEPT, and netfilter-persistent save',
  });
}

/** Every table of nftables decides: where one refuses, Docker's own rules do not help. */
const containersPass = expectation('other rules of the host let containers through', {
  severity: 'should',
  async check(host) {
    const chains = refusesContainers(await rulesOf(host));
    return chains.length === 0
      ? ok
      : drift(`nftables refuses what containers send and get, in ${chains.join(', ')}`);
  },
  hint: 'put two rules into that chain, and into /etc/nftables.conf: iifname "br-*" accept, and oifname "br-*" accept. Docker\'s own rules cannot do that',
});

/** Rules of nftables; nothing on a host without its program. */
const rulesOf = async (host: Reader) => (await host.$`nft --json list ruleset`).stdout;
