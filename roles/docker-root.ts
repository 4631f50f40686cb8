import { dockerDisk } from '../lib/node/largest-disk.ts';
import type { Variables } from '../lib/node/variables.ts';
import { formattedDisk } from '../lib/resource/blank-disk.ts';
import { dockerRoot, oldCopyIsRemoved } from '../lib/resource/docker-root.ts';
import { mount } from '../lib/resource/mount.ts';
import { role } from '../lib/resource/role.ts';

/** Docker's data is on the largest available disk, or the one that the inventory names (spec part 1, operating rules). */
export default role<Variables>('docker-root', ({ vars, facts }) => {
  const { disk, format } = vars.docker_root;
  const { device, ...chosen } = dockerDisk(facts, disk, vars.paths.data);
  const newDisk =
    device === undefined
      ? []
      : [formattedDisk(device, { format }), mount(chosen.mountPoint).source(device).type('ext4')];
  return [...newDisk, dockerRoot(chosen), oldCopyIsRemoved()];
});
