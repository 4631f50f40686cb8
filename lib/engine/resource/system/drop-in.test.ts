import { expect, test } from 'vitest';
import { describeStep } from '../../host/step.ts';
import { drift, ok, type Verdict } from '../resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../testing/fake-host.ts';
import { dropIn } from './drop-in.ts';

const path = '/etc/systemd/system/docker.service.d/limits.conf';
const limits = dropIn('docker.service', 'limits', '[Service]\nLimitNOFILE=65536\n');
const stepsOf = (verdict: Verdict) =>
  verdict.is === 'drift' && Array.isArray(verdict.change) ? verdict.change.map(describeStep) : [];

/** A host on which the file is as it should be. */
const hostWith = (unit: { readonly needsReload: boolean }) =>
  fakeHost([], {
    stat: async (name) =>
      name.endsWith('/.') ? { ...rootsFile, type: 'directory', mode: 0o755 } : rootsFile,
    compare: async () => ({ same: true }),
    unit: async () => ({ ...stoppedUnit, ...unit }),
  });

test('systemd reads its files after the file is written, and nothing is restarted', async () => {
  expect(stepsOf(await limits.check(fakeHost([])))).toEqual([
    'make directory /etc/systemd/system/docker.service.d (mode 0755, root:root)',
    `write ${path} (28 bytes, mode 0644, root:root)`,
    'systemctl daemon-reload',
  ]);
});

test('a run that ended before systemd has read the file is completed by the next one', async () => {
  expect(await limits.check(hostWith({ needsReload: false }))).toEqual(ok);
  const verdict = await limits.check(hostWith({ needsReload: true }));
  expect(verdict).toMatchObject(
    drift([{ what: 'docker.service', was: 'systemd has not read its files', wanted: 'read' }]),
  );
  expect(stepsOf(verdict)).toEqual(['systemctl daemon-reload']);
});
