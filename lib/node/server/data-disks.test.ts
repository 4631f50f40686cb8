import { expect, test } from 'vitest';
import { aMount } from '../../engine/host/testing/disk-facts.ts';
import { describeUnmet } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { dataIsInItsPlace, dockerWaitsForData } from './data-disks.ts';

const fstab = [{ source: 'UUID=1-2', target: '/data', type: 'ext4', options: ['defaults'] }];

test.each([
  [
    'what the host remembers',
    {},
    'UUID 1-2 is not mounted\nmount it again: mount /data.\n',
    'UUID 1-2 is not mounted\nmount it again: mount /data.',
  ],
  [
    'what fstab has',
    { facts: { fstab } },
    '',
    '/etc/fstab mounts UUID=1-2 at /data, and it is not mounted\n' +
      'mount it: mount /data. If this disk is gone for good, take its line out of /etc/fstab',
  ],
])('a missing disk is reported with what to do, by %s', async (_, given, printed, words) => {
  const resource = dataIsInItsPlace(await contextOf(given));
  expect(describeUnmet(resource, await resource.check(fakeHost([[/ data-disks problems/, printed]])))).toBe(
    words,
  );
});

test('a run that ended before systemd has read how Docker waits is completed by the next one', async () => {
  const host = fakeHost([[/ data-disks seen/, 'same\n']], {
    stat: async (path) =>
      path.endsWith('/.') ? { ...rootsFile, type: 'directory', mode: 0o755 } : rootsFile,
    compare: async () => ({ same: true }),
    unit: async (name) => ({ ...stoppedUnit, needsReload: name === 'docker.service' }),
  });
  const context = await contextOf({ facts: { mounts: [aMount('/')] } });
  const verdicts = await Promise.all(dockerWaitsForData(context).map((each) => each.check(host)));
  expect(verdicts).toContainEqual(
    expect.objectContaining({ change: [expect.objectContaining({ command: 'systemctl daemon-reload' })] }),
  );
});
