import { beforeAll, expect, test } from 'vitest';
import type { Writer } from '../../lib/host/host.ts';
import { runInUnit } from '../../lib/resource/job.ts';
import { scratchHost } from './scratch.ts';

let host: Writer;

beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  return scratch.remove;
});

const fails = (run: number) =>
  runInUnit(host, {
    unit: 'rpc-playbooks-job-test',
    title: `run ${run}`,
    // Words of a process that is there a moment before, and of one that ends with them.
    script: `/bin/echo 'first of run ${run}.' >&2\nsleep 0.1\necho 'last of run ${run}.' >&2\nexit 1\n`,
  });

test('the last words of a job that fails are all of this run, however fast it ends', async () => {
  for (let run = 1; run <= 12; run += 1) {
    const words = `rpc-playbooks-job-test failed (exit code 1)\nfirst of run ${run}.\nlast of run ${run}.`;
    await expect(fails(run)).rejects.toThrow(new RegExp(`${words.replace(/[().]/g, '\\$&')}$`));
  }
});

test('two that begin the same work in one moment do it once', async () => {
  const work = {
    unit: 'rpc-playbooks-job-test-once',
    title: 'once',
    script: 'echo begun >>/root/job-test-once\nsleep 3\n',
  };
  await Promise.all([runInUnit(host, work), runInUnit(host, work), runInUnit(host, work)]);
  expect((await host.$`cat /root/job-test-once`).lines()).toEqual(['begun']);
});
