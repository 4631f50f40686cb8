#!/usr/bin/env zx
// Restarts one component, on RPC servers one after the other where there are gateways.
import { play, playbook, roles, rolling, runPlaybook, serviceNames } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'restart',
    'restarts one component; RPC servers behind gateways one after the other, after their clients have left.',
    [
      play('Database+Sync server', { hosts: 'database', roles: await roles('restarted') }),
      play('replicas', { hosts: 'replica', roles: await roles('restarted'), serial: 1, optional: true }),
      play('RPC servers', {
        hosts: 'rpc',
        roles: await roles('restarted', 'verify'),
        needs: ['Database+Sync server'],
        ...rolling,
      }),
    ],
    {
      options: {
        component: { value: 'NAME', help: serviceNames.join(', '), required: true, completes: serviceNames },
      },
    },
  ),
);
