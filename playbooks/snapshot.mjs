#!/usr/bin/env zx
// Takes a snapshot of both databases, from which a deployment can start: two archives of one
// moment, or the files of their server in pieces, and a manifest (docs/data.md).
import { play, playbook, roles, runPlaybook } from '../lib/start/playbook.mjs';

// The first of these groups that has a host is the source of a physical snapshot: the less its host
// serves, the earlier.
const sources = ['replica', 'backup', 'database'];

await runPlaybook(
  playbook(
    'snapshot',
    'takes a snapshot of both databases: the two archives that a deployment starts from.',
    [play('snapshot', { hosts: 'all', roles: await roles('client-tools', 'take-snapshot') })],
    {
      options: {
        to: {
          value: '[HOST:]/FOLDER|[HOST:]s3://BUCKET/FOLDER',
          required: true,
          help: 'an empty or new folder for it, on the Database+Sync server or on another\nhost of the inventory; or one in the storage of snapshot.s3, to which that server sends it',
          form: {
            pattern: /^([\w.-]+:)?(s3:\/\/[a-z0-9][a-z0-9.-]+[a-z0-9])?(\/(?!\.\.?(\/|$))[\w.-]+)+$/,
            words:
              'must be a folder, /data/snapshots/today, one of a host, rpc-1:/data/snapshots/today, or one in a storage, s3://bucket/today: letters, digits, . _ - alone, and no / at the end',
          },
        },
        physical: {
          help: 'copy the files of the database server, in pieces: a deployment starts from them at the\nspeed of its disk. Taken on a replica where there is one, else on the backup host, else on the\nDatabase+Sync server',
        },
        from: {
          value: 'HOST',
          completes: 'host',
          group: sources.join(','),
          help: 'with --physical, take it on this replica, backup host or Database+Sync server',
          goesWith: 'physical',
        },
        publish: {
          help: 'with --physical, for others: without roles, passwords and settings of this deployment',
          goesWith: 'physical',
        },
      },
      limit: ({ to = '', from, physical }, hosts) => {
        const [, named] = /^([\w.-]+):(?:\/[^/]|s3:)/.exec(to) ?? [];
        if (named !== undefined) return named;
        if (from !== undefined || physical === undefined) return from ?? 'database';
        const [first] = sources.flatMap((group) => hosts.filter(({ groups }) => groups.includes(group)));
        return first?.name ?? 'database';
      },
    },
  ),
);
