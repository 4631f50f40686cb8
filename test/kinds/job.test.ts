import { beforeAll, expect, test } from 'vitest';
import type { Reader } from '../../lib/engine/host/host.ts';
import { job, runInUnit, startedEarly } from '../../lib/engine/resource/job/job.ts';
import { drift, ok } from '../../lib/engine/resource/resource.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { scratchHost } from './scratch.ts';

let host: TestHost;

beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  return scratch.remove;
});

const fails = (run: number) =>
  runInUnit(host, {
    unit: 'rpc-playbooks-job-test',
    title: `run ${run}`,
    // The output of a process that exists a moment before, and of one that ends with it.
    script: `/bin/echo 'first of run ${run}.' >&2\nsleep 0.1\necho 'last of run ${run}.' >&2\nexit 1\n`,
  });

test('the last output of a job that fails is all of this run, however fast it ends', async () => {
  for (let run = 1; run <= 12; run += 1) {
    const words = `rpc-playbooks-job-test failed (exit code 1)\nfirst of run ${run}.\nlast of run ${run}.`;
    await expect(fails(run)).rejects.toThrow(new RegExp(`${words.replace(/[().]/g, '\\$&')}$`));
  }
});

test('of a job that fails after many lines the last ones are shown', async () => {
  const work = { unit: 'rpc-playbooks-job-test-long', title: 'long', script: 'seq 100 >&2\nexit 3\n' };
  const last = Array.from({ length: 15 }, (_, at) => at + 86).join('\n');
  await expect(runInUnit(host, work)).rejects.toThrow(
    expect.objectContaining({ message: `long: rpc-playbooks-job-test-long failed (exit code 3)\n${last}` }),
  );
});

test('a job that ends well and reaches nothing shows its last lines', async () => {
  const work = {
    unit: 'rpc-playbooks-job-test-vain',
    script: 'seq 100\n',
    done: async () => drift('nothing is there'),
  };
  await expect(applyDrift(host, job('vain', work))).rejects.toThrow(/nothing is there\n(.*\n)*100$/);
});

test('a job that is killed before it wrote anything has no words, whatever the run before it wrote', async () => {
  const work = { unit: 'rpc-playbooks-job-test-killed', title: 'killed' };
  await expect(runInUnit(host, { ...work, script: 'echo failed 6 times >&2\nexit 1\n' })).rejects.toThrow(
    /failed \(exit code 1\)\nfailed 6 times$/,
  );
  await expect(runInUnit(host, { ...work, script: 'sleep 0.1\nkill -KILL $$\n' })).rejects.toThrow(
    /failed \(signal\)$/,
  );
});

test('two runs that start the same work at the same moment do it once', async () => {
  const work = {
    unit: 'rpc-playbooks-job-test-once',
    title: 'once',
    script: 'echo started >>/root/job-test-once\nsleep 3\n',
  };
  await Promise.all([runInUnit(host, work), runInUnit(host, work), runInUnit(host, work)]);
  expect((await host.$`cat /root/job-test-once`).lines()).toEqual(['started']);
});

test('work that is started early runs by itself, is waited for in its turn, and done once', async () => {
  const work = {
    unit: 'rpc-playbooks-job-test-early',
    title: 'early',
    script: 'echo started >>/root/job-test-early\nsleep 2\ntouch /root/job-test-done\n',
  };
  const done = async (reader: Reader) =>
    (await reader.stat('/root/job-test-done')) ? ok : drift('not done');
  const early = startedEarly('early work is under way', work, done);
  const itself = job('early work is done', { ...work, done });
  expect(await early.check(host)).toMatchObject(drift('not started'));
  await applyDrift(host, early);
  expect(await early.check(host)).toEqual(ok);
  expect(await itself.check(host)).toMatchObject(drift('not done'));
  await applyDrift(host, itself);
  expect(await itself.check(host)).toEqual(ok);
  expect((await host.$`cat /root/job-test-early`).lines()).toEqual(['started']);
});

test('work that was started early and failed at once is reported in its turn, with its own output', async () => {
  const work = { unit: 'rpc-playbooks-job-test-fails', title: 'fails', script: 'echo oh no >&2\nexit 1\n' };
  const done = async () => drift('not done');
  const early = startedEarly('it is under way', work, done);
  await applyDrift(host, early);
  await host.run`sleep 0.5`;
  // No check follows: its start is the proof.
  expect(early.provesItself).toBe(true);
  await expect(applyDrift(host, job('it is done', { ...work, done }))).rejects.toThrow(
    'failed (exit code 1)\noh no',
  );
});
