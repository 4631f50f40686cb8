// The engine for the playbooks of tests, compiled once as the program is: to compile it at each start
// takes three times as long as the rest of such a run.
import { compiled } from '../lib/start/cache.mjs';

const parts = 'test/engine-parts.ts';
const load = await compiled([parts]);

/** @type {typeof import('./engine-parts.ts')} */
export const {
  directory,
  drift,
  file,
  line,
  loadInventory,
  main,
  ok,
  openSession,
  pause,
  play,
  playbook,
  role,
  task,
  thisMachine,
  write,
} = await load(parts);
