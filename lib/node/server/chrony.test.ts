import { expect, onTestFinished, test, vi } from 'vitest';
import { applyDrift, drift, ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { chronySources, clockIsSynchronised, trackingVerdict, withoutDistributionServers } from './chrony.ts';

test('each time server gets a line of its own', () => {
  expect(chronySources(['192.0.2.1', 'time.example'])).toBe('server 192.0.2.1 iburst\nserver time.example iburst\n');
});

test("the distribution's servers become comments, once, and nothing else changes", async () => {
  const text =
    '# pool of Debian\npool 2.debian.pool.ntp.org iburst\n  server ntp.example\nsourcedir /etc/chrony/sources.d\n';
  const file = { text };
  const host = fakeHost([], {
    read: async () => Buffer.from(file.text),
    rewrite: async (_path, _was, content) => {
      file.text = content;
      return true;
    },
  });
  const resource = withoutDistributionServers();
  expect(await resource.check(host)).toMatchObject({ is: 'drift' });
  await applyDrift(host, resource);
  expect(file.text).toBe(
    '# pool of Debian\n#pool 2.debian.pool.ntp.org iburst\n#server ntp.example\nsourcedir /etc/chrony/sources.d\n',
  );
  expect(await resource.check(host)).toEqual(ok);
});

const tracking = (offset: string, leap: string) =>
  `AC1E4D0A,172.30.77.10,11,1795252999.5,${offset},0.000003,0.00001,-8.2,0.01,0.1,0.0003,0.0005,64.5,${leap}`;

test('a selected server and a small offset make a synchronised clock', () => {
  expect(trackingVerdict(tracking('-0.000004', 'Normal'))).toEqual(ok);
  expect(trackingVerdict(tracking('0.2', 'Insert second'))).toEqual(ok);
});

test('no selected server, or a clock far off it, do not', () => {
  expect(trackingVerdict(tracking('0.0', 'Not synchronised'))).toEqual(drift('chrony has selected no time server'));
  expect(trackingVerdict(tracking('-3.5', 'Normal'))).toEqual(drift('the clock is -3.5 s off 172.30.77.10'));
  expect(trackingVerdict('')).toMatchObject({ is: 'drift' });
});

test('a clock that no server sets is reported with the sources of chrony', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const host = fakeHost(
    [
      [/tracking$/, tracking('0.0', 'Not synchronised')],
      [/sources$/, '^? 192.0.2.1   0   6   0   -     +0ns[   +0ns] +/-    0ns\n'],
    ],
    { sleep: async (seconds) => void vi.advanceTimersByTime(seconds * 1000) },
  );
  await expect(applyDrift(host, clockIsSynchronised())).rejects.toMatchObject({
    message: expect.stringMatching(/^chrony selected no time server within \d+ s\n\^\? 192\.0\.2\.1/),
    hint: 'check time_servers in the inventory, and that UDP port 123 is open to them',
  });
});
