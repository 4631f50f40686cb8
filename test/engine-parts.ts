// What the playbooks of tests import of the engine.
export { main } from '../lib/commands/playbook/command.ts';
export { openSession } from '../lib/engine/host/open-session.ts';
export { write } from '../lib/engine/host/step.ts';
export { loadInventory } from '../lib/engine/inventory/load.ts';
export { thisMachine } from '../lib/engine/inventory/testing/this-machine.ts';
export { directory } from '../lib/engine/resource/file/directory.ts';
export { file } from '../lib/engine/resource/file/file.ts';
export { line } from '../lib/engine/resource/file/line.ts';
export { pause } from '../lib/engine/resource/job/pause.ts';
export { drift, ok, task } from '../lib/engine/resource/resource.ts';
export { role } from '../lib/engine/resource/role.ts';
export { play, playbook } from '../lib/engine/run/playbook.ts';
