#!/usr/bin/env zx
// Turns bare servers into a serving RPC node, in the order of the specification (part 1, "Deployment order").
import { gatewayTurns, play, playbook, roles, runPlaybook } from '../lib/start/playbook.mjs';

// Behind gateways, an RPC server leaves them before a change that clients notice, one at a time. Elsewhere all change together.
const rolling = { serial: 1, maxFail: 0, turns: gatewayTurns };

// What puts an RPC server back after a failure in its turn, with `gateway.rollback: auto`.
const putBack = play('RPC servers', {
  hosts: 'rpc',
  roles: await roles(
    'one-synchronizer',
    'images',
    'former-version',
    'configuration',
    'prover',
    'pool-db',
    'json-rpc',
    'verify',
    'release',
  ),
  ...rolling,
});

await runPlaybook(
  playbook('deploy', 'turns bare servers into a serving RPC node and keeps them so.', [
    play('one synchronizer', { hosts: 'all', roles: await roles('one-synchronizer'), anyErrorsFatal: true }),
    play('preflight', { hosts: 'database,rpc', roles: await roles('preflight') }),
    play('prepare servers', {
      hosts: 'database,rpc',
      roles: await roles(
        'packages',
        'client-tools',
        'time-sync',
        'docker',
        'docker-root',
        'firewall',
        'disk-alert',
        'next-version',
      ),
      ...rolling,
    }),
    // A change of the node's version: no container reads a configuration or a database of the other one.
    play('former version', { hosts: 'database,rpc', roles: await roles('former-version'), anyErrorsFatal: true }),
    play('configuration', { hosts: 'database,rpc', roles: await roles('configuration') }),
    play('Database+Sync server', {
      hosts: 'database',
      roles: await roles('state-db', 'snapshot', 'prover', 'pool-db', 'sync', 'backup-source'),
    }),
    play('RPC servers', {
      hosts: 'rpc',
      // Behind gateways, the play "configuration" leaves this role to the turn of the server.
      roles: await roles('configuration', 'database-reachable', 'prover', 'pool-db', 'json-rpc', 'verify'),
      needs: ['Database+Sync server'],
      ...rolling,
    }),
    play('releases', { hosts: 'database,rpc', roles: await roles('release') }),
    play('backups', {
      hosts: 'backup',
      roles: await roles('packages', 'client-tools', 'time-sync', 'docker', 'firewall', 'backup'),
      needs: ['Database+Sync server'],
      optional: true,
    }),
    play('gateways', {
      hosts: 'gateway',
      roles: await roles('time-sync', 'gateway', 'gateway-address'),
      optional: true,
    }),
    // Only where the inventory has a reader of metrics.
    play('prepare monitor', { hosts: 'monitor', roles: await roles('time-sync', 'firewall'), optional: true }),
    play('measure servers', { hosts: 'all', roles: await roles('exporters') }),
    play('monitor', { hosts: 'monitor', roles: await roles('monitor'), optional: true }),
  ]),
  [putBack],
);
