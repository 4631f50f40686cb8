// What the playbooks of tests import of the engine, compiled once as the program is: to compile
// it at each start takes three times as long as the rest of such a run.
import { compiled } from '../lib/start/cache.mjs';

const files = {
  command: 'lib/commands/playbook/command.ts',
  inventory: 'lib/engine/inventory/load.ts',
  session: 'lib/engine/host/open-session.ts',
  step: 'lib/engine/host/step.ts',
  directory: 'lib/engine/resource/file/directory.ts',
  file: 'lib/engine/resource/file/file.ts',
  line: 'lib/engine/resource/file/line.ts',
  thisMachine: 'lib/engine/inventory/testing/this-machine.ts',
  pause: 'lib/engine/resource/job/pause.ts',
  resource: 'lib/engine/resource/resource.ts',
  role: 'lib/engine/resource/role.ts',
  playbook: 'lib/engine/run/playbook.ts',
};
const load = await compiled(Object.values(files));

/** @type {typeof import('../lib/commands/playbook/command.ts')} */
export const { main } = await load(files.command);
/** @type {typeof import('../lib/engine/host/open-session.ts')} */
export const { openSession } = await load(files.session);
/** @type {typeof import('../lib/engine/inventory/load.ts')} */
export const { loadInventory } = await load(files.inventory);
/** @type {typeof import('../lib/engine/host/step.ts')} */
export const { write } = await load(files.step);
/** @type {typeof import('../lib/engine/resource/file/directory.ts')} */
export const { directory } = await load(files.directory);
/** @type {typeof import('../lib/engine/resource/file/file.ts')} */
export const { file } = await load(files.file);
/** @type {typeof import('../lib/engine/resource/file/line.ts')} */
export const { line } = await load(files.line);
/** @type {typeof import('../lib/engine/inventory/testing/this-machine.ts')} */
export const { thisMachine } = await load(files.thisMachine);
/** @type {typeof import('../lib/engine/resource/job/pause.ts')} */
export const { pause } = await load(files.pause);
/** @type {typeof import('../lib/engine/resource/resource.ts')} */
export const { drift, ok, task } = await load(files.resource);
/** @type {typeof import('../lib/engine/resource/role.ts')} */
export const { role } = await load(files.role);
/** @type {typeof import('../lib/engine/run/playbook.ts')} */
export const { play, playbook } = await load(files.playbook);
