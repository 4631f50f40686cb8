import { drift, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';
import { known } from './known.ts';

/** A wish of the test network: the inventory's own checks hold the rule of the main network. */
export function serverIsInRegion({ host, vars: { network, region: own } }: Context<Variables>): Resource[] {
  if (!host.groups.includes('database') || network.kind === 'main' || network.region === undefined) return [];
  const same = own?.toLowerCase() === network.region.toLowerCase();
  return [
    known(
      `Database+Sync server is in region ${network.region}`,
      same ? ok : drift(own === undefined ? 'the inventory does not name its region' : `it is in ${own}`),
      { severity: 'should', hint: 'set its region in the inventory: region' },
    ),
  ];
}

/**
 * A tag can get another image in its registry, and hosts that are deployed at different times
 * would differ.
 */
export function imagesArePinned({ vars: { network, images } }: Context<Variables>): Resource[] {
  if (network.kind !== 'main') return [];
  const open = Object.entries(images).flatMap(([name, image]) =>
    image.includes('@') ? [] : [`images.${name}`],
  );
  return [
    known('images are pinned by digest', open.length === 0 ? ok : drift(`not pinned: ${open.join(', ')}`), {
      severity: 'should',
      hint: 'write name:tag@sha256:…; on a host that has it, docker image inspect shows it in RepoDigests',
    }),
  ];
}
