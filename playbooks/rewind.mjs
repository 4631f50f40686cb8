#!/usr/bin/env zx
// Deletes from the state database the batches with blocks that the trusted sequencer does not have
// (docs/rewind.md).
import { play, playbook, roles, rolling, runPlaybook } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'rewind',
    'deletes, after a divergence, the blocks that the trusted sequencer or layer 1 does not have, and goes on from there.',
    [
      play('one synchronizer', {
        hosts: 'all',
        roles: await roles('one-synchronizer'),
        anyErrorsFatal: true,
      }),
      play('known migrations', {
        hosts: 'database,rpc',
        roles: await roles('known-migrations'),
        anyErrorsFatal: true,
      }),
      play('Database+Sync server', { hosts: 'database', roles: await roles('rewind'), anyErrorsFatal: true }),
      play('replicas', { hosts: 'replica', roles: await roles('rewind'), optional: true }),
      play('RPC servers', {
        hosts: 'rpc',
        roles: await roles('rewind'),
        needs: ['Database+Sync server', 'replicas'],
        ...rolling,
      }),
    ],
    {
      options: {
        to: {
          value: 'BLOCK',
          help: 'the newest block that is left, as --check shows it: needed without a backup or a snapshot of what goes, for more than a day, and for layer 1',
          form: { pattern: /^\d{1,15}$/, words: 'must be the number of a block' },
        },
      },
      typed: 'database',
    },
  ),
);
