#!/usr/bin/env zx
// Removes an RPC server or a replica from the deployment: its data, its packages and Docker stay
// on it.
import { play, playbook, roles, runPlaybook } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'remove',
    'takes an RPC server out of the gateways, and removes what the tool has made on it, or on a replica. Its data stay.',
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
      options: {
        host: {
          value: 'NAME',
          help: 'the RPC server, or a replica',
          required: true,
          completes: 'host',
          group: 'rpc,replica',
        },
      },
    },
  ),
);
