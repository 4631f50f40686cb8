#!/usr/bin/env zx
// Restarts one component, on RPC servers one after the other where there are gateways.
import { gatewayTurns, play, playbook, roles, runPlaybook, serviceNames } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'restart',
    'restarts one component; RPC servers behind gateways one after the other, after their clients have left.',
    [
      play('Database+Sync server', { hosts: 'database', roles: await roles('restarted') }),
      play('RPC servers', {
        hosts: 'rpc',
        roles: await roles('restarted', 'verify'),
        needs: ['Database+Sync server'],
        serial: 1,
        maxFail: 0,
        turns: gatewayTurns,
      }),
    ],
    {
      options: { component: { value: 'NAME', help: serviceNames.join(', '), required: true, completes: serviceNames } },
    },
  ),
);
