// The dependencies of this node's playbooks.

export { openSession } from '../../engine/host/open-session.ts';
export { Problem } from '../../engine/problem/problem.ts';
export { play, playbook } from '../../engine/run/playbook.ts';
export { didYouMean } from '../../engine/text/suggest.ts';
export { rolling } from '../../node/gateway/drain.ts';
export { loadDeployment } from '../../node/inventory/inventory.ts';
export { serverRoles } from '../../node/server/server-roles.ts';
export { serviceNames } from '../../node/variables/services.ts';
export { runOptions } from './options.ts';
export { rollback, rollbackOptions, runOrPutBack } from './rollback.ts';
export { scheduleCheck } from './schedule.ts';
