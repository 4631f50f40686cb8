#!/usr/bin/env zx
// The workload as a playbook of this project, run as any other: the same command line, inventory, plan and report.
import { argumentsOf } from '../../../lib/typescript.mjs';

const { z } = await import('zod');
const { main } = await import('../../../lib/cli/main.ts');
const { loadInventory } = await import('../../../lib/inventory/load.ts');
const { play, playbook } = await import('../../../lib/run/playbook.ts');
const { openSession } = await import('../../../lib/run/open-session.ts');
const { default: workloadRole } = await import('./ours-role.ts');

await main(
  playbook('ours', 'brings the workload about.', [play('workload', { hosts: 'all', roles: [workloadRole] })]),
  argumentsOf('ours.mjs'),
  {
    load: (name, options) => loadInventory(name, z.strictObject({}), options),
    open: openSession,
    embedded: 'none',
    prepareEmbedded: async () => {},
  },
);
