// What a playbook of this node is made of, and run with.
export { main } from '../cli/main.ts';
export { loadDeployment } from '../node/inventory.ts';
export { Problem } from '../problem.ts';
export { openSession } from '../run/open-session.ts';
export { play, playbook } from '../run/playbook.ts';
