import { expect, onTestFinished, test, vi } from 'vitest';
import { drift, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { poolDbHasItsLead, staysUp } from './startup.ts';

test('check mode waits for a container that has just started, and reports its age', async () => {
  const started = Date.parse(runningContainer.startedAt) / 1000;
  const host = fakeHost([[/^date/, `${started + 2.5}\n`]], { container: async () => runningContainer });
  const lead = poolDbHasItsLead('sync');
  expect(lead.name).toBe('pool-db has run for 5 seconds before sync starts');
  const short = (name: string) => `the 5 seconds have passed: ${name} has run for 2 s`;
  expect(await lead.check(host)).toEqual(unknownUntil(short('pool-db')));
  expect(await staysUp('json-rpc').check(host)).toEqual(unknownUntil(short('json-rpc')));
});

test('a container that Docker has just restarted is drift: it may end again', async () => {
  const started = Date.parse(runningContainer.startedAt) / 1000;
  const host = fakeHost([[/^date/, `${started + 2.5}\n`]], {
    container: async () => ({ ...runningContainer, restartCount: 3 }),
  });
  expect(await staysUp('sync').check(host)).toMatchObject(drift('sync has run for 2 s'));
});

test('a component that Docker restarts again and again is reported with the end of its log', async () => {
  const host = fakeHost([[/^docker logs /, 'no answer from layer 1\n']], {
    container: async () => ({ ...runningContainer, status: 'restarting', exitCode: 1, restartCount: 4 }),
  });
  await expect(applyDrift(host, staysUp('sync'))).rejects.toThrow(
    /^container sync is restarting, exit code 1\nno answer from layer 1$/,
  );
});

test('one that is met running at each look, soon after one of its starts, is reported with the end of its log, too', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const started = Date.parse(runningContainer.startedAt) / 1000;
  const log = ['info', 'fatal'].map((level) => JSON.stringify({ level, msg: `${level} of a pool database` }));
  const host = fakeHost(
    [
      [/^docker logs /, `${log.join('\n')}\n`],
      [/^date/, `${started + 3}\n`],
    ],
    {
      container: async () => ({ ...runningContainer, restartCount: 7 }),
      sleep: async (seconds) => {
        vi.advanceTimersByTime(seconds * 1000);
      },
    },
  );
  await expect(applyDrift(host, staysUp('sync'))).rejects.toThrow(
    'container sync does not stay up, restarts by Docker: 7\ninfo of a pool database\nfatal of a pool database',
  );
});
