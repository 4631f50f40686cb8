import { expect, test } from 'vitest';
import { fakeHost, rootsFile, stoppedUnit } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
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

test('a unit that can be enabled by another one alone is refused by the name of that one', async () => {
  const indirect = async (installed: string) => {
    const cat = `[Service]\nExecStart=/usr/sbin/uuidd\n\n[Install]\n${installed}\n`;
    const unit = async () => ({ ...stoppedUnit, enabled: 'indirect' });
    return service('uuidd').check(fakeHost([[/^systemctl cat -- uuidd.service$/, cat]], { unit }));
  };
  expect(await indirect('Also=uuidd.socket')).toMatchObject({
    change: {
      message: 'uuidd.service is not enabled by itself, but by uuidd.socket',
      hint: 'name uuidd.socket in the role, in place of it',
    },
  });
  // It has another name by a link, and can be enabled.
  expect(await indirect('WantedBy=multi-user.target\nAlso=uuidd.socket')).toMatchObject({
    differences: [{ what: 'at boot', was: 'indirect', wanted: 'enabled' }, {}],
  });
});

test('a unit that does not start, or does not stay active, is reported with the end of its journal', async () => {
  const refuses = fakeHost(
    [
      [
        /systemctl start/,
        { exitCode: 1, stderr: 'Job for chrony.service failed.\nFatal error: no configuration\n' },
      ],
    ],
    { unit: async () => stoppedUnit },
  );
  await expect(applyDrift(refuses, service('chrony'))).rejects.toMatchObject({
    message: 'chrony.service did not start: Job for chrony.service failed.\nFatal error: no configuration',
    hint: 'see systemctl status chrony.service',
  });
  const ends = {
    ...stoppedUnit,
    active: 'failed',
    sub: 'failed',
    activeSince: 9,
    lastWords: 'reading /etc/c\nFatal error',
  };
  const seen = await service('chrony', ['/etc/c']).check(fakeHost([], { unit: async () => ends }));
  expect(seen).toMatchObject({
    is: 'drift',
    note: 'it ended just after its start:\nreading /etc/c\nFatal error',
  });
});

test('a unit that runs with other files than there are is restarted, if one of ours is among them', async () => {
  const dropIn = '/etc/systemd/system/exporter.service.d/own.conf';
  const unit = async () => ({ ...stoppedUnit, active: 'active', activeSince: 9, needsReload: true });
  const host = fakeHost([], { unit, stat: async () => ({ ...rootsFile, modified: 5 }) });
  const seen = await service('exporter', [dropIn]).check(host);
  expect(seen).toMatchObject({ differences: [{}, { what: 'files of the unit', wanted: 'as they are' }] });
  expect(JSON.stringify(seen)).toContain('systemctl restart exporter.service');
  const others = await service('exporter', ['/etc/exporter.conf']).check(host);
  expect(JSON.stringify(others)).not.toContain('files of the unit');
});
