import { expect, test } from 'vitest';
import { fakeHost, stoppedUnit } from '../testing/fake-host.ts';
import { service } from './service.ts';

test('the name tells the unit and what is wanted of it', () => {
  expect(service('chrony').enabled().running().name).toBe('chrony.service is enabled and running');
  expect(service('fstrim.timer').enabled().name).toBe('fstrim.timer is enabled');
  expect(service('getty@tty1').running().restartedAfter('/x').name).toBe('getty@tty1.service is running');
});

test('a modifier returns a new value', () => {
  const plain = service('x');
  plain.enabled();
  expect(plain.name).toBe('x.service');
});

test('a unit that somebody has masked is left so, and told', async () => {
  const host = fakeHost([], { unit: async () => ({ ...stoppedUnit, load: 'masked' }) });
  await expect(service('chrony').running().apply(host)).rejects.toMatchObject({
    message: 'chrony.service is masked: somebody has forbidden it to start',
    hint: 'find out why; then systemctl unmask chrony.service',
  });
});

test('a unit that does not start, or does not stay up, is told with the end of its journal', async () => {
  const journal = [/^journalctl/, 'Fatal error: Could not open configuration file\n'] as const;
  const refuses = fakeHost(
    [journal, [/systemctl start/, { exitCode: 90, stderr: 'Job for chrony.service failed.\n' }]],
    { unit: async () => stoppedUnit },
  );
  await expect(service('chrony').running().apply(refuses)).rejects.toMatchObject({
    message:
      'chrony.service did not start: Job for chrony.service failed.\nFatal error: Could not open configuration file',
    hint: 'see systemctl status chrony.service',
  });
  const ends = fakeHost([journal, [/systemctl start/, { exitCode: 90 }]], {
    unit: async () => ({ ...stoppedUnit, active: 'failed', sub: 'failed' }),
  });
  await expect(service('chrony').running().apply(ends)).rejects.toThrow(
    'chrony.service did not start: it is failed (failed)\nFatal error',
  );
});
