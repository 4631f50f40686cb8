import { formattedDisk } from '../lib/engine/resource/disk/blank-disk.ts';
import { mount } from '../lib/engine/resource/disk/mount.ts';
import { dockerRoot, oldCopyIsRemoved } from '../lib/engine/resource/docker/docker-root.ts';
import { role } from '../lib/engine/resource/role.ts';
import { dockerWaitsForData } from '../lib/node/server/data-disks.ts';
import { dockerDisk } from '../lib/node/server/largest-disk.ts';
import { product } from '../lib/node/server/product.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Docker's data is on the largest disk, or on the one that the inventory names (spec part 1,
 * operating rules).
 */
export default role<Variables>('docker-root', (context) => {
  const { vars, facts } = context;
  const { format } = vars.docker_root;
  const { device, ...chosen } = dockerDisk(facts, vars.docker_root, vars.paths.data);
  const newDisk =
    device === undefined
      ? []
      : [formattedDisk(device, { format, label: product }), mount(chosen.mountPoint, device)];
  return [
    ...newDisk,
    dockerRoot({ product, ...chosen }),
    oldCopyIsRemoved(product),
    ...dockerWaitsForData(context),
  ];
});
