import { role } from '../lib/engine/resource/role.ts';
import { component } from '../lib/node/render/component.ts';
import { imageSortsAsSnapshot, serverReadsSnapshot } from '../lib/node/snapshot/physical-fits.ts';
import { snapshotIsUnpacked } from '../lib/node/snapshot/unpacked.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The files of the state database server are those of a physical snapshot, where the inventory
 * names one and there is no database yet.
 */
export default role<Variables>('physical-snapshot', async (context) => {
  const { vars } = context;
  const { physical } = vars.snapshot;
  if (!physical) return [];
  const { image } = await component(context, 'state-db');
  return snapshotIsUnpacked(context, physical, [
    serverReadsSnapshot(context, physical.manifest),
    image,
    imageSortsAsSnapshot(vars, physical.manifest),
  ]);
});
