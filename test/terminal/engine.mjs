// What the playbooks of these tests import of the engine, compiled once as the program is: to compile
// it at each start takes three times as long as the rest of such a run.
import { compiled } from '../../lib/start/cache.mjs';

const files = {
  command: 'lib/commands/playbook/command.ts',
  session: 'lib/engine/host/open-session.ts',
  thisMachine: 'lib/engine/inventory/testing/this-machine.ts',
  pause: 'lib/engine/resource/job/pause.ts',
  resource: 'lib/engine/resource/resource.ts',
  role: 'lib/engine/resource/role.ts',
  playbook: 'lib/engine/run/playbook.ts',
};
const load = await compiled(Object.values(files));

/** @type {typeof import('../../lib/commands/playbook/command.ts')} */
export const { main } = await load(files.command);
/** @type {typeof import('../../lib/engine/host/open-session.ts')} */
export const { openSession } = await load(files.session);
/** @type {typeof import('../../lib/engine/inventory/testing/this-machine.ts')} */
export const { thisMachine } = await load(files.thisMachine);
/** @type {typeof import('../../lib/engine/resource/job/pause.ts')} */
export const { pause } = await load(files.pause);
/** @type {typeof import('../../lib/engine/resource/resource.ts')} */
export const { drift, ok, task } = await load(files.resource);
/** @type {typeof import('../../lib/engine/resource/role.ts')} */
export const { role } = await load(files.role);
/** @type {typeof import('../../lib/engine/run/playbook.ts')} */
export const { play, playbook } = await load(files.playbook);
