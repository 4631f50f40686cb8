import { expect, test } from 'vitest';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { describeUnmet, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { type Answer, fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { renderHost } from '../render/render.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { containersReach } from './from-containers.ts';

// What the scripts say, and where they ask, is in test/kinds/container-network.test.ts. An RPC
// server asks the state database twice, for two users, then the trusted sequencer and layer 1.

const atName: Changes = [[['groups', 'database', 'db-1', 'address'], 'state-db.internal']];

async function said(answer: Answer) {
  const resource = await containersReach(await contextOf({ group: 'rpc', changes: atName }));
  const verdict = await resource.check(fakeHost([[/from-containers/, answer]]));
  return verdict.is === 'drift' ? describeUnmet(resource, verdict) : verdict;
}

test.each([
  ['everything is reached', ''],
  [
    'the state database is not there yet',
    'container 1 unreached Connection refused\nhost 1 unreached Connection refused\n',
  ],
  ['it starts', 'container 1 refused psql: error: FATAL:  the database system is starting up\n'],
  [
    'it is full',
    'container 1 refused psql: error: FATAL:  remaining connection slots are reserved for non-replication superuser connections\n',
  ],
  [
    'the image has no bash',
    'container docker: Error response from daemon: exec: "bash": executable file not found in $PATH\n',
  ],
])('no fault: %s', async (_, text) => {
  expect(await said(text)).toEqual(ok);
});

test('it is unknown until a container can be started', async () => {
  expect(await said('until the image of PostgreSQL is there\n')).toEqual(
    unknownUntil('the image of PostgreSQL is there'),
  );
  expect(await said({ exitCode: 137 })).toEqual(unknownUntil('the host answers what its containers reach'));
});

test.each([
  [
    'by /etc/hosts',
    'container 1 unresolved\ncontainer 2 unresolved\nnamed 1\nnamed 2\n',
    `state-db.internal (the state database on db-1) resolves on the host, by /etc/hosts, and not in containers
give the address in the inventory, or the name to the DNS server of the host`,
  ],
  [
    'by something else',
    'container 1 unresolved\n',
    `state-db.internal (the state database on db-1) resolves on the host, and not in containers
containers ask the DNS servers in /etc/resolv.conf of the host, or those of dns in /etc/docker/daemon.json: give the name to one of them, or the address in the inventory`,
  ],
  [
    'nowhere',
    'container 1 unresolved\nhost 1 unresolved\n',
    `state-db.internal (the state database on db-1) resolves neither on the host nor in containers
check the name in the inventory, and the DNS server of the host`,
  ],
  [
    'no way out',
    'container 3 unreached\ncontainer 4 unreached No route to host\n',
    `172.30.77.10:8545 (the trusted sequencer) can be reached from the host, and not from containers: no answer within 4 s; 172.30.77.10:8546 (layer 1) can be reached from the host, and not from containers: No route to host
let packets of Docker's networks out: see the chain FORWARD of the host's firewall (docs/network.md, "Networks of containers")`,
  ],
  [
    'a refused login',
    'container 2 refused psql: error: connection to server failed: FATAL:  password authentication failed for user "prover_user"\n',
    `state-db.internal:5432 (the state database on db-1) refuses prover_user from containers: password authentication failed for user "prover_user"
compare credentials in the inventory with the database (docs/secrets.md, "Rotate passwords")`,
  ],
  [
    'no container',
    'container code 125\ncontainer docker: Error response from daemon: no space left on device.\n',
    `no container can be started to ask from it: docker: Error response from daemon: no space left on device.
see journalctl -u docker on the host`,
  ],
  [
    'no container, in the order in which a host sorts the words of Docker 28',
    `container code 125
container
container Run 'docker run --help' for more information
container docker: Error response from daemon: failed to create task for container: No space left on device
`,
    `no container can be started to ask from it: docker: Error response from daemon: failed to create task for container: No space left on device
see journalctl -u docker on the host`,
  ],
])('refused with what to do: %s', async (_, text, words) => {
  expect(await said(text)).toBe(words);
});

test('containers that run with the wanted configuration have reached everything: none is started', async () => {
  const context = await contextOf({ group: 'rpc' });
  const { services } = await renderHost(context);
  const resource = await containersReach(context);
  const host = fakeHost([], {
    container: async (name) => ({
      ...runningContainer,
      labels: { [configHashLabel]: services[name as keyof typeof services]?.configHash ?? '' },
    }),
  });
  expect(await resource.check(host)).toEqual(ok);
});
