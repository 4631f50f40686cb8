#!/usr/bin/env zx
// Puts an earlier release back: its rendered files and images, by the roles and checks of a
// deploy.
import { play, playbook, roles, rolling, runRollback } from '../lib/start/playbook.mjs';

await runRollback(
  playbook('rollback', 'puts the files and images of an earlier release back, and proves that it serves.', [
    // The first role also refuses a release that cannot be put back, before anything is touched on
    // any host.
    play('one synchronizer', {
      hosts: 'database,rpc',
      roles: await roles('one-synchronizer'),
      anyErrorsFatal: true,
    }),
    play('known migrations', {
      hosts: 'database,rpc',
      roles: await roles('known-migrations'),
      anyErrorsFatal: true,
    }),
    play('images', { hosts: 'database,rpc', roles: await roles('images'), anyErrorsFatal: true }),
    play('former version', {
      hosts: 'database,rpc',
      roles: await roles('former-version'),
      anyErrorsFatal: true,
    }),
    play('configuration', { hosts: 'database,rpc', roles: await roles('configuration') }),
    play('Database+Sync server', {
      hosts: 'database',
      roles: await roles('container-network', 'state-db', 'prover', 'pool-db', 'sync'),
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
      needs: ['Database+Sync server'],
      ...rolling,
    }),
    play('releases', { hosts: 'database,rpc', roles: await roles('release') }),
  ]),
);
