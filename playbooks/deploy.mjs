#!/usr/bin/env zx
// Turns bare servers into a serving RPC node, in the order of the specification (part 1,
// "Deployment order").
import { play, playbook, roles, rolling, runPlaybook, serverRoles } from '../lib/start/playbook.mjs';

// What puts an RPC server back after a failure in its turn, with `gateway.rollback: auto`.
const putBack = play('RPC servers', {
  hosts: 'rpc',
  roles: await roles(
    'one-synchronizer',
    'images',
    'former-version',
    'configuration',
    'container-network',
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
    // A version that does not know a database's migrations is refused on all hosts, while
    // everything still runs.
    play('known migrations', {
      hosts: 'database,rpc',
      roles: await roles('known-migrations'),
      anyErrorsFatal: true,
    }),
    play('preflight', { hosts: 'database,rpc', roles: await roles('preflight', 'upgrade') }),
    play('preflight of replicas', { hosts: 'replica', roles: await roles('preflight'), optional: true }),
    play('preflight of gateways', {
      hosts: 'gateway',
      roles: await roles('gateway-preflight'),
      optional: true,
    }),
    // Before a server has a certificate of another authority, and before the first login from
    // another host.
    play('certificate authority', {
      hosts: 'rpc,replica,backup',
      roles: await roles('certificate-authority'),
      optional: true,
    }),
    play('prepare servers', {
      hosts: 'database,rpc',
      roles: await roles(...serverRoles, 'next-version'),
      ...rolling,
    }),
    // A rotation of passwords: every server moves to second logins, before the usual ones change.
    play('second logins', { hosts: 'database', roles: await roles('second-logins') }),
    play('servers use second logins', {
      hosts: 'database,rpc',
      roles: await roles('temporary-logins'),
      needs: ['second logins'],
      ...rolling,
    }),
    play('new passwords', {
      hosts: 'database,rpc',
      roles: await roles('new-passwords'),
      needs: ['servers use second logins'],
    }),
    // A change of the node's version: no container reads a configuration or a database of the
    // other one.
    play('former version', {
      hosts: 'database,rpc',
      roles: await roles('former-version'),
      anyErrorsFatal: true,
    }),
    play('configuration', { hosts: 'database,rpc', roles: await roles('configuration') }),
    play('Database+Sync server', {
      hosts: 'database',
      roles: await roles(
        'container-network',
        'physical-snapshot',
        'state-db',
        'snapshot',
        'prover',
        'pool-db',
        'layer1',
        'sync',
        'backup-source',
        'replica-source',
      ),
    }),
    play('replicas', {
      hosts: 'replica',
      roles: await roles(...serverRoles, 'configuration', 'container-network', 'replica'),
      needs: ['Database+Sync server'],
      // A copy reads the whole server.
      serial: 1,
      optional: true,
    }),
    play('RPC servers', {
      hosts: 'rpc',
      // Behind gateways, the play "configuration" leaves this role to the turn of the server.
      roles: await roles(
        'configuration',
        'database-reachable',
        'container-network',
        'prover',
        'pool-db',
        'json-rpc',
        'verify',
      ),
      needs: ['Database+Sync server', 'replicas'],
      ...rolling,
    }),
    play('replicas without other clients', {
      hosts: 'replica',
      // One that was the Database+Sync server has served layer 1 to the RPC servers until now.
      roles: await roles('layer1', 'replica-firewall'),
      needs: ['RPC servers'],
      optional: true,
    }),
    play('no second logins', {
      hosts: 'database,rpc',
      roles: await roles('no-second-logins'),
      needs: ['RPC servers'],
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
      roles: await roles('time-sync', 'firewall', 'gateway', 'gateway-address'),
      optional: true,
    }),
    // An ACME server may ask any gateway for the answer to its challenge, so all of them have to
    // listen.
    play('certificates', {
      hosts: 'gateway',
      roles: await roles('gateway-certificate'),
      needs: ['gateways'],
      serial: 1,
      optional: true,
    }),
    // Only where the inventory has a reader of metrics.
    play('prepare monitor', {
      hosts: 'monitor',
      roles: await roles('time-sync', 'firewall'),
      optional: true,
    }),
    play('measure servers', { hosts: 'all', roles: await roles('exporters') }),
    play('monitor', { hosts: 'monitor', roles: await roles('monitor'), optional: true }),
    // After all clients can encrypt. Last: where one cannot be reached, nothing else is left out.
    play('encryption', {
      hosts: 'database,replica',
      roles: await roles('encryption'),
      needs: ['Database+Sync server', 'replicas', 'RPC servers'],
      optional: true,
    }),
  ]),
  [putBack],
);
