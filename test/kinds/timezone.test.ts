import { beforeAll, expect, test } from 'vitest';
import { timezone } from '../../lib/engine/resource/system/timezone.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

let host: TestHost;
beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  return scratch.remove;
});

test('the zone is set for timedatectl, date and /etc/timezone', async () => {
  const differences = await converge(host, timezone('Asia/Singapore'));
  expect(differences).toContainEqual({ what: '/etc/localtime', was: 'Etc/UTC', wanted: 'Asia/Singapore' });
  expect((await host.$`timedatectl show -p Timezone --value`).text()).toBe('Asia/Singapore');
  expect((await host.$`date +%z`).text()).toBe('+0800');
  expect((await host.$`cat /etc/timezone`).text()).toBe('Asia/Singapore');
  await converge(host, timezone('Etc/UTC'));
  expect((await host.$`timedatectl show -p Timezone --value`).text()).toBe('Etc/UTC');
});

test('a missing link is drift and is created', async () => {
  await host.run`rm /etc/localtime`;
  await converge(host, timezone('Etc/UTC'));
});

test('a copy in place of the link is drift and is replaced by a link', async () => {
  await host.run`rm /etc/localtime && cp /usr/share/zoneinfo/Etc/UTC /etc/localtime`;
  await converge(host, timezone('Etc/UTC'));
});

test('a zone that the host does not know is refused, and the host stays unchanged', async () => {
  const unknown = timezone('Mars/Olympus');
  expect(await unknown.check(host)).toMatchObject({
    is: 'drift',
    note: expect.stringContaining('knows no Mars/Olympus'),
  });
  await expect(applyDrift(host, unknown)).rejects.toThrow('knows no Mars/Olympus');
  expect((await host.$`readlink /etc/localtime`).text()).toBe('/usr/share/zoneinfo/Etc/UTC');
});

test('without the time zone database the state is unknown', async () => {
  await host.run`mv /usr/share/zoneinfo /usr/share/zoneinfo.away`;
  try {
    expect(await timezone('Etc/UTC').check(host)).toMatchObject({
      is: 'unknown',
      until: expect.stringContaining('tzdata'),
    });
  } finally {
    await host.run`mv /usr/share/zoneinfo.away /usr/share/zoneinfo`;
  }
});
