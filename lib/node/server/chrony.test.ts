import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { describeUnmet, drift, ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import {
  chronySources,
  clockIsSynchronised,
  clockOfMachineIsRight,
  trackingVerdict,
  withoutDistributionServers,
} from './chrony.ts';

test('each time server gets a line of its own', () => {
  expect(chronySources(['192.0.2.1', 'time.example'])).toBe(
    'server 192.0.2.1 iburst\nserver time.example iburst\n',
  );
});

test("the distribution's servers become comments, once, and nothing else changes", async () => {
  const text =
    '# pool of Debian\npool 2.debian.pool.ntp.org iburst\n  server ntp.example\nsourcedir /etc/chrony/sources.d\n';
  const file = { text };
  const host = fakeHost([], {
    read: async () => Buffer.from(file.text),
    place: (step) => {
      if (step.do === 'rewrite') file.text = step.content;
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

/** As chrony 4.3 printed it on a server, at this time. */
const now = 1_795_611_674;
const tracking = (offset: string, leap: string) =>
  `AC1E4D0A,172.30.77.10,9,1795611641.191968326,${offset},0.000000977,0.000049048,-0.005,0.000,0.023,0.000052217,0.000037614,64.6,${leap}`;

test('a selected server and a small offset make a synchronised clock', () => {
  expect(trackingVerdict(tracking('-0.000004', 'Normal'), now)).toEqual(ok);
  expect(trackingVerdict(tracking('0.2', 'Insert second'), now)).toEqual(ok);
});

test('no selected server, or a clock far off it, do not', () => {
  expect(trackingVerdict(tracking('0.0', 'Not synchronised'), now)).toEqual(
    drift('chrony has selected no time server'),
  );
  expect(trackingVerdict(tracking('-3.5', 'Normal'), now)).toEqual(
    drift('the clock is -3.5 s off 172.30.77.10'),
  );
  expect(trackingVerdict('', now)).toMatchObject({ is: 'drift' });
});

test('a clock whose server has not answered for days follows nobody, although chrony says Normal', () => {
  const words = 'the clock follows nobody: 172.30.77.10 last answered';
  expect(trackingVerdict(tracking('0.0', 'Normal'), now + 3 * 3600 - 60)).toEqual(ok);
  expect(trackingVerdict(tracking('0.0', 'Normal'), now + 3 * 3600)).toEqual(
    drift(`${words} 3 h 00 min ago`),
  );
  expect(trackingVerdict(tracking('0.0', 'Normal'), now + 9 * 86_400)).toEqual(
    drift(`${words} 216 h 00 min ago`),
  );
});

/**
 * What a container with this folder's texts answers: chrony 4.5 with -x, whose server is 5 s ahead
 * of the machine's clock.
 */
const inContainer = () =>
  fakeHost([
    [
      /tracking$/,
      readFileSync(new URL('../../../test/hosts/chrony-in-container/tracking', import.meta.url), 'utf8'),
    ],
    [/^date/, '1795632242'],
  ]);

test('a container cannot set its clock: one that is off is a warning about the machine, and no run fails on it', async () => {
  const off = drift('the clock is 4.999998093 s off 127.0.0.1');
  expect(await clockIsSynchronised({ isOwn: true }).check(inContainer())).toEqual(off);
  expect(await clockIsSynchronised({ isOwn: false }).check(inContainer())).toEqual(ok);
  const resource = clockOfMachineIsRight();
  expect(resource.expects).toBe('should');
  expect(describeUnmet(resource, await resource.check(inContainer()))).toBe(
    `the clock is 4.999998093 s off 127.0.0.1
this host is a container, which has the clock of its machine: synchronise that one`,
  );
});

test('chrony says Normal when its server is gone, until the answer is too old', () => {
  const text = readFileSync(
    new URL('../../../test/hosts/chrony-server-gone/tracking', import.meta.url),
    'utf8',
  ).trim();
  expect(trackingVerdict(text, 1_795_632_221)).toEqual(ok);
  expect(trackingVerdict(text, 1_795_632_221 + 9 * 86_400)).toEqual(
    drift('the clock follows nobody: 127.0.0.1 last answered 216 h 00 min ago'),
  );
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
  await expect(applyDrift(host, clockIsSynchronised({ isOwn: true }))).rejects.toMatchObject({
    message: expect.stringMatching(/^chrony selected no time server within \d+ s\n\^\? 192\.0\.2\.1/),
    hint: 'check time_servers in the inventory, and that UDP port 123 is open to them',
  });
});
