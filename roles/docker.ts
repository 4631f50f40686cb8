import { imagesBelowDockerRoot } from '../lib/engine/resource/docker/image-store.ts';
import { jsonFile } from '../lib/engine/resource/file/json-file.ts';
import { role } from '../lib/engine/resource/role.ts';
import { service } from '../lib/engine/resource/system/service.ts';
import { beforeEngine, composeAnswers, enginePackages } from '../lib/node/packages/engine.ts';
import { dataIsInItsPlace } from '../lib/node/server/data-disks.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const settings = '/etc/docker/daemon.json';

/** The Docker engine and Compose, from the distribution's packages. */
export default role<Variables>('docker', (context) => {
  const { vars, facts, roles } = context;
  const registry = vars.registry?.insecure
    ? [jsonFile(settings, { 'insecure-registries': [vars.registry.address] })]
    : [];
  return [
    // Before anything starts the engine.
    dataIsInItsPlace(context),
    ...(roles?.has('packages') ? [] : [...beforeEngine, enginePackages({ facts })]),
    ...registry,
    service('docker', [settings]),
    ...imagesBelowDockerRoot(),
    composeAnswers(),
  ];
});
