#!/usr/bin/env zx
// Takes an RPC server out of all gateways, or lets it back in.
import { play, playbook, roles, runPlaybook } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'drain',
    'takes an RPC server out of all gateways, and waits until its clients have left; --undo lets it back in.',
    [play('gateways', { hosts: 'gateway', roles: await roles('drained') })],
    {
      options: {
        host: { value: 'NAME', help: 'the RPC server', required: true, completes: 'host', group: 'rpc' },
        reason: {
          value: 'TEXT',
          help: 'why; status shows it (default: by the operator)',
          notBeside: 'undo',
        },
        undo: { help: 'let it back in' },
      },
      needsGroup: {
        name: 'gateway',
        hint: 'clients reach this server without a gateway of the deployment: keep them away where they come from',
      },
    },
  ),
);
