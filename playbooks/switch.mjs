#!/usr/bin/env zx
// Makes a replica the Database+Sync server, and the former one a replica (docs/replicas.md).
import { play, playbook, roles, rolling, runPlaybook, serverRoles } from '../lib/start/playbook.mjs';

await runPlaybook(
  playbook(
    'switch',
    'makes a replica the Database+Sync server, and the former one a replica. In the inventory, swap their groups first.',
    [
      play('known migrations', {
        hosts: 'database,rpc',
        roles: await roles('known-migrations'),
        anyErrorsFatal: true,
      }),
      // What the new server has to meet for its new components, while the former one goes on.
      play('preflight', { hosts: 'database', roles: await roles('preflight'), anyErrorsFatal: true }),
      play('certificate authority', {
        hosts: 'rpc,replica,backup',
        roles: await roles('certificate-authority'),
        optional: true,
      }),
      // All that takes long, while the former server goes on.
      play('prepare the new server', {
        hosts: 'database',
        roles: await roles(
          ...serverRoles,
          'images',
          'configuration',
          'container-network',
          'layer1',
          'state-db',
        ),
        anyErrorsFatal: true,
      }),
      // Runs on every replica, and changes only the one that is still a primary.
      play('the former server ends', {
        hosts: 'replica',
        roles: await roles('switch-from'),
        needs: ['prepare the new server'],
        anyErrorsFatal: true,
        optional: true,
      }),
      play('the new server accepts writes', {
        hosts: 'database',
        roles: await roles('switch-to', 'backup-source', 'replica-source'),
        needs: ['prepare the new server'],
      }),
      play('the new synchronizer', {
        hosts: 'database',
        roles: await roles('prover', 'pool-db', 'sync'),
        needs: ['the new server accepts writes'],
      }),
      play('replicas', {
        hosts: 'replica',
        roles: await roles(...serverRoles, 'configuration', 'container-network', 'replica'),
        needs: ['the new server accepts writes'],
        serial: 1,
        optional: true,
      }),
      play('RPC servers', {
        hosts: 'rpc',
        roles: await roles(
          'configuration',
          'database-reachable',
          'container-network',
          'prover',
          'pool-db',
          'json-rpc',
          'verify',
        ),
        needs: ['the new server accepts writes', 'replicas'],
        ...rolling,
      }),
      play('replicas without other clients', {
        hosts: 'replica',
        // The former server has served layer 1 to the RPC servers until now.
        roles: await roles('layer1', 'replica-firewall'),
        needs: ['RPC servers'],
        optional: true,
      }),
      play('releases', { hosts: 'database,rpc', roles: await roles('release') }),
      play('backups', {
        hosts: 'backup',
        roles: await roles('backup'),
        needs: ['the new server accepts writes'],
        optional: true,
      }),
      play('measure servers', { hosts: 'all', roles: await roles('exporters') }),
      play('monitor', { hosts: 'monitor', roles: await roles('monitor'), optional: true }),
      play('encryption', {
        hosts: 'database,replica',
        roles: await roles('encryption'),
        needs: ['the new server accepts writes', 'replicas'],
        optional: true,
      }),
    ],
    {
      options: {
        to: {
          value: 'HOST',
          required: true,
          help: 'the new server: the inventory has it in group database now, and the former one in group replica',
          completes: 'host',
          group: 'database',
        },
      },
      typed: 'database',
    },
  ),
);
