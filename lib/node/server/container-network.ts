import * as z from 'zod';
import { command } from '../../engine/host/step.ts';
import { untilDockerRuns } from '../../engine/resource/docker/docker-engine.ts';
import { containerChange, drift, ok, type Resource, refused } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { type ContainerNetwork, renderHost, subnetLabel } from '../render/render.ts';
import { serviceNames } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';

/** How long a container may take to stop. Seconds. */
const stopLimit = 120;

/** The part of `docker network inspect` that is used. */
const inspected = z.tuple([
  z.object({
    Labels: z.record(z.string(), z.string()).nullish(),
    IPAM: z.object({ Config: z.array(z.object({ Subnet: z.string() })).nullish() }),
  }),
]);

/** The networks of the host's containers have the subnet of the inventory, where it names one. */
export async function networksHaveTheirSubnets(context: Context<Variables>): Promise<Resource[]> {
  const { networks, services } = await renderHost(context);
  return networks.map((network) => ({
    name: `network ${network.name} has its subnet`,
    changes: () => serviceNames.filter((name) => services[name]).map(containerChange),
    check: checkOf(network),
  }));
}

/**
 * No engine changes the subnet of a network: the network is removed, with the containers in it,
 * and Compose makes both again. Compose itself cannot: depending on its version it fails, leaves
 * the network as it is, or removes only the container that it starts.
 */
function checkOf({ name, subnet }: ContainerNetwork): Resource['check'] {
  return async (host) => {
    const [until, inspection] = await Promise.all([
      untilDockerRuns(host),
      host.$`docker network inspect ${name}`,
    ]);
    if (until) return until;
    const { data } = inspected.safeParse(parseJson(inspection.stdout));
    // Compose makes a missing one.
    if (!inspection.ok || !data) return ok;
    const [{ Labels, IPAM }] = data;
    if (Labels?.[subnetLabel] === subnet) return ok;
    const listed = await host.$`docker ps --all --filter ${`network=${name}`} --format ${'{{.Names}}'}`;
    const there = listed.lines().toSorted();
    const others = there.filter((container) => !serviceNames.some((service) => service === container));
    if (others.length > 0) return refused(...inUseBy(others, name));
    const was = IPAM.Config?.map(({ Subnet }) => Subnet).join(', ') ?? '';
    // Clients first, so that no database waits for them.
    const databases = there.filter((container) => container.endsWith('-db'));
    const clients = there.filter((container) => !databases.includes(container));
    return drift(
      [
        { what: 'subnet', was, wanted: subnet ?? "Docker's choice" },
        ...there.map((container) => ({
          what: container,
          was: 'in the former network',
          wanted: 'made again',
        })),
      ],
      [
        ...[clients, databases].flatMap((names) =>
          names.length === 0 ? [] : command`docker stop --time ${stopLimit} ${names} && docker rm ${names}`,
        ),
        command`docker network rm ${name}`,
      ],
    );
  };
}

function inUseBy(others: readonly string[], network: string): [what: string, hint: string] {
  return [
    `network ${network} has to be made again for container_subnet, and other containers are in it: ${others.join(', ')}`,
    `take them out of it, and put them back after the deploy: ${others.map((other) => `docker network disconnect --force ${network} ${other}`).join('; ')}`,
  ];
}
