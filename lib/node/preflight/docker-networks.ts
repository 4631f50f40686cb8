import { isIP } from 'node:net';
import * as z from 'zod';
import { usualAddress } from '../../engine/inventory/address.ts';
import { untilDockerRuns } from '../../engine/resource/docker/docker-engine.ts';
import { networkHas } from '../../engine/resource/network/ip-network.ts';
import { ok, type Resource, refused, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { renderHost } from '../render/render.ts';
import type { Variables } from '../variables/variables.ts';
import { listedAddresses, serversOf } from './places.ts';

/**
 * The parts of `docker network inspect` that are used. `Config` is null for a network without
 * addresses.
 */
const inspected = z.array(
  z.object({
    Name: z.string(),
    Driver: z.string(),
    IPAM: z.object({
      Config: z.array(z.object({ Subnet: z.string(), Gateway: z.string().optional() })).nullish(),
    }),
    Containers: z
      .record(z.string(), z.object({ IPv4Address: z.string(), IPv6Address: z.string() }))
      .nullish(),
  }),
);

interface DockerNetwork {
  readonly name: string;
  readonly subnet: string;
  /** Addresses of its containers, and of the host in it. */
  readonly own: ReadonlySet<string>;
}

/** An address or a network that containers or their host need, and whose it is. */
interface Needed {
  readonly address: string;
  readonly whose: string;
}

/**
 * No network of Docker on the host has an address that its containers need elsewhere: another
 * server, the trusted sequencer, layer 1, and what else the inventory lists. Docker knows the
 * host's own routes and nothing of the networks behind them.
 */
export function networksAreApart(context: Context<Variables>): Resource {
  return {
    name: 'networks of Docker have no address of the deployment',
    expects: 'must',
    check: async (host) => {
      const [until, networks, ...found] = await Promise.all([
        untilDockerRuns(host),
        host.$`systemctl is-active --quiet docker.service && docker network inspect $(docker network ls --quiet)`,
        ...serversOf(context).map(async ({ host: name, whose }): Promise<Needed[]> => {
          if (isIP(name) !== 0) return [{ address: name, whose }];
          const lines = (await host.$({ timeoutSeconds: 10 })`getent ahosts ${name}`).lines();
          const addresses = new Set(lines.map((line) => line.split(/\s/)[0] ?? ''));
          return [...addresses].map((address) => ({ address, whose }));
        }),
      ]);
      if (until) return until;
      const own = (await renderHost(context)).networks.map(({ name }) => name);
      const listed = listedAddresses(context).map(({ host: address, whose }) => ({ address, whose }));
      const needed = [...found.flat(), ...listed];
      return judged(networksIn(networks.stdout), needed, own, context.vars.container_subnet);
    },
  };
}

/**
 * Networks with a bridge: the host has a route into each. Those of other drivers are parts of a
 * network outside.
 */
function networksIn(text: string): DockerNetwork[] {
  const { data = [] } = inspected.safeParse(parseJson(text));
  return data
    .filter(({ Driver }) => Driver === 'bridge')
    .flatMap(({ Name: name, IPAM, Containers }) => {
      const addresses = Object.values(Containers ?? {}).flatMap(({ IPv4Address, IPv6Address }) => [
        IPv4Address,
        IPv6Address,
      ]);
      return (IPAM.Config ?? []).map(({ Subnet: subnet, Gateway = '' }) => {
        const own = [...addresses, Gateway].map((address) => usualAddress(address.replace(/\/.*/, '')));
        return { name, subnet, own: new Set(own) };
      });
    });
}

/**
 * @param own names of the networks of the deployment
 * @param subnet the one that these have to have
 */
function judged(
  networks: readonly DockerNetwork[],
  needed: readonly Needed[],
  own: readonly string[],
  subnet: string | undefined,
): Verdict {
  for (const network of networks) {
    const isOwn = own.includes(network.name);
    // It is removed in this run.
    if (isOwn && subnet !== undefined && subnet !== network.subnet) continue;
    const taken = needed.find(
      ({ address }) =>
        liesIn(address, network.subnet) && !network.own.has(address.replace(/\/(32|128)$/, '')),
    );
    const shown = `network ${network.name} of Docker (${network.subnet})`;
    if (taken) {
      const what = `${taken.address}, ${taken.whose}, lies in ${shown}, and containers look for it in that network alone`;
      return refused(what, isOwn ? ownHint : otherHint);
    }
    if (isOwn || subnet === undefined || !overlap(subnet, network.subnet)) continue;
    return refused(
      `container_subnet ${subnet} overlaps with ${shown}`,
      'choose a network that nothing else uses',
    );
  }
  return ok;
}

/** Whether an address, or a whole network, is in another network. `0.0.0.0/0` is in none. */
function liesIn(wanted: string, network: string): boolean {
  const [address = '', prefix = '128'] = wanted.split('/');
  return networkHas(network, address) && Number(prefix) >= Number(network.split('/')[1]);
}

function overlap(one: string, other: string): boolean {
  const first = (network: string) => network.split('/')[0] ?? '';
  return networkHas(one, first(other)) || networkHas(other, first(one));
}

const ownHint =
  'give the containers a network that nothing else uses: container_subnet in the inventory (docs/network.md, "Networks of containers")';
const otherHint =
  'remove that network if nothing uses it (docker network rm), or have it made again with another subnet: in its Compose file, or by default-address-pools in /etc/docker/daemon.json';
