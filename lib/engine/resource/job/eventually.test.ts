import { expect, test, vi } from 'vitest';
import { drift, ok, unknownUntil, type Verdict } from '../resource.ts';
import { applyDrift, type TestHost } from '../testing/test-host.ts';
import { eventually } from './eventually.ts';

const host = {
  progress: vi.fn(),
  sleep: (seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * 1000)),
} as unknown as TestHost;

const checks =
  (...verdicts: Verdict[]) =>
  async () =>
    verdicts.shift() ?? ok;

test('it waits until the condition is met, and counts as no change', async () => {
  const resource = eventually('it is up', checks(drift('not yet'), drift('not yet')), {
    seconds: 1,
    pause: 0.02,
  });
  await applyDrift(host, resource);
  expect(resource.expects).toBe('must');
});

test('it fails after its time limit, with the last state', async () => {
  const never = async () => drift('no answer');
  const resource = eventually('it is up', never, { seconds: 0.05, pause: 0.02, hint: 'look at its log' });
  await expect(applyDrift(host, resource)).rejects.toMatchObject({
    message: 'it is up: not within 0.05 s: no answer',
    hint: 'look at its log',
  });
});

test('it fails at once if waiting is pointless', async () => {
  const giveUp = async () => {
    throw new Error('it has ended');
  };
  const resource = eventually('it is up', async () => drift('no answer'), { seconds: 60, giveUp });
  await expect(applyDrift(host, resource)).rejects.toThrow('it has ended');
});

test('a met condition is not given up', async () => {
  const giveUp = async () => {
    throw new Error('it has ended');
  };
  await applyDrift(
    host,
    eventually('it is up', async () => ok, { seconds: 60, giveUp }),
  );
});

test('whether waiting is pointless is read together with the condition', async () => {
  let asked = 0;
  const look = async () => {
    await new Promise(setImmediate);
    return asked === 0 ? drift('asked later') : ok;
  };
  const giveUp = async () => {
    asked += 1;
  };
  await applyDrift(host, eventually('it is up', look, { seconds: 0, giveUp }));
});

test('an interrupted wait says so, and does not check again', async () => {
  const cut = { ...host, sleep: async () => {} } as unknown as TestHost;
  const resource = eventually('it is up', async () => drift('no answer'), { seconds: 60 });
  await expect(applyDrift(cut, resource)).rejects.toThrow('interrupted while waiting');
});

test('an unknown state is reported as unknown in the end', async () => {
  const resource = eventually('it is up', async () => unknownUntil('docker runs'), { seconds: 0 });
  await expect(applyDrift(host, resource)).rejects.toThrow(
    'it is up: not within 0 s: unknown until docker runs',
  );
});
