import { expect, test } from 'vitest';
import { command } from '../../engine/host/step.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { drift, ok } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { leftSyncIsNotRestarted } from './left-sync.ts';

function hostWith(restart: string, labels: Readonly<Record<string, string>> = { [configHashLabel]: 'a' }) {
  const raw = { HostConfig: { RestartPolicy: { Name: restart, MaximumRetryCount: 0 } } };
  const container = { ...runningContainer, running: false, status: 'exited', labels, raw };
  return fakeHost([], { container: async () => container });
}

test('a stopped synchronizer that is left on an RPC server loses its restart policy', async () => {
  const resource = leftSyncIsNotRestarted();
  const differences = [{ what: 'restart policy of the container sync', was: 'unless-stopped', wanted: 'no' }];
  expect(await resource.check(hostWith('unless-stopped'))).toEqual(
    drift(differences, [command`docker update --restart no sync`]),
  );
  expect(await resource.check(hostWith('no'))).toEqual(ok);
});

test("somebody else's container of that name, and a host without one, are left alone", async () => {
  expect(await leftSyncIsNotRestarted().check(hostWith('always', {}))).toEqual(ok);
  expect(await leftSyncIsNotRestarted().check(fakeHost([]))).toEqual(ok);
});
