import { expect, test } from 'vitest';
import { fakeHost, stoppedUnit } from '../testing/fake-host.ts';
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
  await expect(service('chrony').apply(host)).rejects.toMatchObject({
    message: 'chrony.service is masked: it is not allowed to start',
    hint: 'find out why; then systemctl unmask chrony.service',
  });
});

test('a unit that does not start, or does not stay active, is reported with the end of its journal', async () => {
  const journal = [/^journalctl/, 'Fatal error: Could not open configuration file\n'] as const;
  const refuses = fakeHost(
    [journal, [/systemctl start/, { exitCode: 90, stderr: 'Job for chrony.service failed.\n' }]],
    { unit: async () => stoppedUnit },
  );
  await expect(service('chrony').apply(refuses)).rejects.toMatchObject({
    message:
      'chrony.service did not start: Job for chrony.service failed.\nFatal error: Could not open configuration file',
    hint: 'see systemctl status chrony.service',
  });
  const ends = fakeHost([journal, [/systemctl start/, { exitCode: 90 }]], {
    unit: async () => ({ ...stoppedUnit, active: 'failed', sub: 'failed' }),
  });
  await expect(service('chrony').apply(ends)).rejects.toThrow(
    'chrony.service did not start: it is failed (failed)\nFatal error',
  );
});
