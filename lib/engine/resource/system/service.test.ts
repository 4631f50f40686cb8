import { expect, test } from 'vitest';
import { applyDrift } from '../resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../testing/fake-host.ts';
import { service } from './service.ts';

test.each([
  ['chrony', 'chrony.service'],
  ['fstrim.timer', 'fstrim.timer'],
  ['getty@tty1', 'getty@tty1.service'],
])('%s is the unit %s', (name, unit) => {
  expect(service(name).name).toBe(`${unit} is enabled and running`);
});

test('a masked unit is reported and stays masked', async () => {
  const host = fakeHost([], { unit: async () => ({ ...stoppedUnit, load: 'masked' }) });
  await expect(applyDrift(host, service('chrony'))).rejects.toMatchObject({
    message: 'chrony.service is masked: it is not allowed to start',
    hint: 'find out why; then systemctl unmask chrony.service',
  });
});

test('a unit that does not start, or does not stay active, is reported with the end of its journal', async () => {
  const refuses = fakeHost(
    [[/systemctl start/, { exitCode: 1, stderr: 'Job for chrony.service failed.\nFatal error: no configuration\n' }]],
    { unit: async () => stoppedUnit },
  );
  await expect(applyDrift(refuses, service('chrony'))).rejects.toMatchObject({
    message: 'chrony.service did not start: Job for chrony.service failed.\nFatal error: no configuration',
    hint: 'see systemctl status chrony.service',
  });
  const ends = fakeHost([[/systemctl restart/, { exitCode: 1, stderr: 'it is failed (failed)\nFatal error\n' }]], {
    unit: async () => ({ ...stoppedUnit, active: 'active', activeSince: 5 }),
    stat: async () => ({ ...rootsFile, modified: 6 }),
  });
  await expect(applyDrift(ends, service('chrony', ['/etc/c']))).rejects.toThrow(
    'chrony.service did not restart: it is failed (failed)\nFatal error',
  );
});
