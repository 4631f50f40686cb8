#!/usr/bin/env zx
// Rebuilds the Database+Sync server from the backup, as it was at a time, or drills that on the
// backup host (docs/data.md).
import { play, playbook, roles, runPlaybook, serverRoles } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'recover',
    'rebuilds the Database+Sync server from the backup, as it was at a time.',
    [
      play('one synchronizer', {
        hosts: 'all',
        roles: await roles('one-synchronizer'),
        anyErrorsFatal: true,
      }),
      // What the server has to meet, and what is in the way there, before hours of copying.
      play('preflight', {
        hosts: 'database',
        roles: await roles('preflight', 'recovery-target'),
        anyErrorsFatal: true,
      }),
      // Before the server has a certificate of another authority.
      play('certificate authority', {
        hosts: 'backup',
        roles: await roles('certificate-authority'),
        optional: true,
      }),
      play('recover from the backup', { hosts: 'backup', roles: await roles('recovery'), optional: true }),
      play('prepare the server', {
        hosts: 'database',
        roles: await roles(...serverRoles, 'configuration'),
        needs: ['recover from the backup'],
      }),
      play('stop the databases', {
        hosts: 'database',
        roles: await roles('recovery'),
        needs: ['prepare the server'],
      }),
      play('offer what arrived last', {
        hosts: 'backup',
        roles: await roles('recovery-data'),
        needs: ['stop the databases'],
        optional: true,
      }),
      play('Database+Sync server', {
        hosts: 'database',
        roles: await roles(
          'recovery-data',
          'container-network',
          'state-db',
          'snapshot',
          'prover',
          'pool-db',
          // What sync writes is of no recovery: a later one must not find its mark.
          'recovery-end',
          'layer1',
          'sync',
          'backup-source',
          'replica-source',
          'encryption',
        ),
        needs: ['offer what arrived last'],
      }),
      play('end of the recovery', {
        hosts: 'backup',
        roles: await roles('recovery-end'),
        needs: ['Database+Sync server'],
        optional: true,
      }),
    ],
    {
      options: {
        'to-time': {
          value: 'TIME|latest',
          required: true,
          help: 'the time to recover to, such as 2026-11-22T18:00:00Z, or all that the backup has',
          form: {
            pattern:
              /^(latest|\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ)$/,
            words: 'must be latest, or a time in UTC such as 2026-11-22T18:00:00Z',
          },
        },
        'to-server': {
          value: 'HOST',
          help: 'the server to rebuild: the Database+Sync server of the inventory',
        },
        'from-storage': {
          help: 'start from the copy in backup.copy_to, as where the backup host is gone: a new one in group backup fetches it',
          notBeside: 'drill',
        },
        'copy-identity': {
          value: 'FILE',
          help: 'private key of age that reads an encrypted copy; without it that of backup.identity',
          goesWith: 'from-storage',
        },
        'set-aside': {
          help: 'rename a data directory that is there; without it one is never touched',
          notBeside: 'drill',
        },
        drill: { help: 'change nothing: recover into a container on the backup host and compare its blocks' },
      },
      limit: ({ drill }) => (drill === undefined ? 'database,backup' : 'backup'),
      typed: 'database',
      needsGroup: {
        name: 'backup',
        hint: 'where the backups are copied off the site, name a new host: docs/backup-copy.md; without backups a database starts from its snapshot again, by a deploy',
      },
    },
  ),
);
