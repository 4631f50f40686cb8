#!/usr/bin/env zx
// Removes an RPC server from the deployment: its data, its packages and Docker stay on it.
import { play, playbook, roles, runPlaybook } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'remove',
    'takes an RPC server out of the gateways, and removes what the tool has made on it. Its data stay.',
    [
      play('clients leave', { hosts: 'gateway', roles: await roles('drained'), optional: true }),
      play('gateways', {
        hosts: 'gateway',
        roles: await roles('gateway-without'),
        needs: ['clients leave'],
        optional: true,
      }),
      play('server', { hosts: '{host}', roles: await roles('removed'), needs: ['gateways'] }),
    ],
    {
      options: { host: { value: 'NAME', help: 'the RPC server', required: true, completes: 'host', group: 'rpc' } },
    },
  ),
);
