import { expect, test } from 'vitest';
import { drift } from '../resource.ts';
import { fakeHost, rootsFile } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { timezone } from './timezone.ts';

test.each(['Etc/UTC', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])(
  '%s is a time zone name',
  (zone) => {
    expect(timezone(zone).name).toBe(`time zone is ${zone}`);
  },
);

test.each(['', '../../etc/passwd', '/etc/passwd', 'a b', 'Etc/'])('%j is refused', (zone) => {
  expect(() => timezone(zone)).toThrow('no name of a time zone');
});

test('a zone that the host does not know is refused with how to install it', async () => {
  const known = fakeHost([[/.*/, '']], {
    stat: async (path) => (path === '/usr/share/zoneinfo' ? rootsFile : undefined),
  });
  expect(await timezone('Mars/Olympus').check(known)).toMatchObject(
    drift('the time zone database of this host knows no Mars/Olympus'),
  );
  await expect(applyDrift(known, timezone('Mars/Olympus'))).rejects.toMatchObject({
    message: 'the time zone database of this host knows no Mars/Olympus',
    hint: 'install or repair the package tzdata there',
  });
});
