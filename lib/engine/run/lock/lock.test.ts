import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Writer } from '../../host/host.ts';
import { connectLocally, temporaryDirectory } from '../../host/testing/local-connection.ts';
import { createWriter } from '../../host/writer.ts';
import { describeProblem } from '../../problem/problem.ts';
import { fakeHost } from '../../resource/testing/fake-host.ts';
import { beatLock, breakLock, releaseLock, takeLock } from './lock.ts';
import { isDead, type LockHolder, parseHolder, thisHolder } from './lock-holder.ts';
import { lockHosts } from './locks.ts';

async function here(): Promise<{ host: Writer; folder: string }> {
  const connection = await connectLocally();
  onTestFinished(() => connection.close());
  return { host: createWriter(connection, 'here', { onProgress: () => {} }), folder: temporaryDirectory() };
}

const holder = (more: Partial<LockHolder> = {}): LockHolder => ({
  ...thisHolder('deploy', 'lab', Date.now()),
  ...more,
});
const elsewhere = () => holder({ process: { pid: 1, start: '1', machine: 'another machine' } });
/** The number of an ended process of this machine. */
function dead(): LockHolder {
  const pid = Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }));
  const own = holder();
  return { ...own, process: { ...own.process, pid, start: '1' } };
}

test('a lock is taken once, and shows its holder until it is released', async () => {
  const { host, folder } = await here();
  const [one, two] = [elsewhere(), holder()];
  expect(await takeLock(host, one, folder)).toEqual({ taken: true, lastEnd: 0 });
  expect(await takeLock(host, two, folder)).toEqual({
    taken: false,
    holder: one,
    silent: expect.any(Number),
  });
  await releaseLock(host, two, { folder });
  expect(await takeLock(host, two, folder)).toMatchObject({ taken: false });
  await releaseLock(host, one, { folder });
  const again = await takeLock(host, two, folder);
  expect(again).toMatchObject({ taken: true });
  expect(again.taken && Date.now() / 1000 - again.lastEnd).toBeLessThan(30);
});

test('of many simultaneous attempts one takes the lock', async () => {
  const { host, folder } = await here();
  const answers = await Promise.all(Array.from({ length: 12 }, () => takeLock(host, holder(), folder)));
  expect(answers.filter(({ taken }) => taken)).toHaveLength(1);
});

test('the lock of a killed run of this machine is taken over', async () => {
  const { host, folder } = await here();
  const killed = dead();
  expect(isDead(killed)).toBe(true);
  expect([holder(), elsewhere()].map(isDead)).toEqual([false, false]);
  expect(await takeLock(host, killed, folder)).toMatchObject({ taken: true });
  expect(await takeLock(host, holder(), folder)).toMatchObject({ taken: true });
});

test('a silent holder on another machine is reported with the time of silence, and its lock can be taken over', async () => {
  const { host, folder } = await here();
  const [silent, own] = [elsewhere(), holder()];
  await takeLock(host, silent, folder);
  const old = Date.now() / 1000 - 300;
  utimesSync(join(folder, 'lock/holder'), old, old);
  const answer = await takeLock(host, own, folder);
  expect(answer).toMatchObject({ taken: false, holder: silent });
  expect(answer.taken || answer.silent).toBeGreaterThanOrEqual(300);
  // A sign of life makes it recent again.
  expect(await beatLock(host, silent, folder)).toBe(true);
  expect(await takeLock(host, own, folder)).toMatchObject({
    taken: false,
    silent: expect.toSatisfy((s) => s < 100),
  });

  await breakLock(host, own, folder);
  expect(await takeLock(host, own, folder)).toMatchObject({ taken: false });
  await breakLock(host, silent, folder);
  expect(await takeLock(host, own, folder)).toMatchObject({ taken: true });
  expect(await beatLock(host, silent, folder)).toBe(false);
  await releaseLock(host, silent, { folder });
  expect(existsSync(join(folder, 'lock/holder'))).toBe(true);
});

test('a lock that is just being taken is not broken, one that was left incomplete is', async () => {
  const { host, folder } = await here();
  mkdirSync(join(folder, 'lock'));
  expect(await takeLock(host, holder(), folder)).toMatchObject({
    taken: false,
    holder: undefined,
    silent: expect.toSatisfy((seconds) => Math.abs(seconds) < 5),
  });
  await breakLock(host, undefined, folder);
  expect(existsSync(join(folder, 'lock'))).toBe(true);
  const old = Date.now() / 1000 - 60;
  utimesSync(join(folder, 'lock'), old, old);
  await breakLock(host, undefined, folder);
  expect(await takeLock(host, holder(), folder)).toMatchObject({ taken: true });
});

test.each([
  ['empty', ''],
  ['binary', '\0\x01\xff'],
  ['cut off', '{"token":"x"'],
  ['huge', 'x'.repeat(5_000_000)],
])('a holder that cannot be read (%s) is removed once it is old', async (_, text) => {
  const { host, folder } = await here();
  mkdirSync(join(folder, 'lock'));
  writeFileSync(join(folder, 'lock/holder'), text);
  expect(await takeLock(host, holder(), folder)).toMatchObject({ taken: false, holder: undefined });
  const old = Date.now() / 1000 - 60;
  utimesSync(join(folder, 'lock'), old, old);
  await breakLock(host, undefined, folder);
  expect(await takeLock(host, holder(), folder)).toMatchObject({ taken: true });
});

test('a directory that cannot be written is reported, and no lock is made elsewhere', async () => {
  const { host } = await here();
  await expect(takeLock(host, holder(), '/proc/no-such-folder')).rejects.toThrow(/no-such-folder/);
  expect(existsSync('/lock')).toBe(false);
});

test('an invalid holder is not a holder', () => {
  expect(['', '{}', '{"token":1}', 'x'].map(parseHolder)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('who holds a lock is reported, and what to do about it', async () => {
  const who = elsewhere();
  /** The complaint where the host answers this to a request for its lock. */
  const complaint = (answer: string) => {
    const host = { name: 'db-1', writer: fakeHost([[/mkdir lock/, answer]]), clockOffset: 0 };
    return lockHosts([host], holder(), { breaks: false, lost: () => {}, without: () => {} }).then(
      () => 'locked',
      describeProblem,
    );
  };
  expect(await complaint('held\n0\n')).toBe(
    'db-1 is locked by another run that is just beginning\n  wait for it to end, as a playbook does with --wait 10m; --check and status need no lock',
  );
  expect(await complaint(`held\n3600\n${JSON.stringify(who)}`)).toBe(
    `db-1 is locked by ${who.who} (process 1), which runs deploy on lab since ${who.since}, without a heartbeat for 3600 s\n  if that run is dead, take the lock from it: --break-lock`,
  );
});
