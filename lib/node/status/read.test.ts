import { expect, test } from 'vitest';
import type { Reader, Shell, Word } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { readHost } from './read.ts';

/** A host on which nothing answers, with a list of the commands. */
function bareHost(docker: string, tracking = new Output(127, Buffer.from(''), '')) {
  const asked: string[] = [];
  const answer = (pieces: TemplateStringsArray, ...words: readonly Word[]) => {
    asked.push(String.raw({ raw: pieces }, ...words));
    if (asked.at(-1)?.startsWith('chronyc')) return Promise.resolve(tracking);
    const clock = asked.at(-1)?.startsWith('date');
    return Promise.resolve(new Output(clock ? 0 : 127, Buffer.from(clock ? `${Date.now() / 1000}` : ''), ''));
  };
  const $ = ((first: TemplateStringsArray | object, ...words: readonly Word[]) =>
    Array.isArray(first) ? answer(first as unknown as TemplateStringsArray, ...words) : answer) as Shell;
  const note = (what: string) => async (about: unknown) => void asked.push(`${what} ${JSON.stringify(about)}`);
  const reader = {
    name: 'h',
    $,
    container: note('container'),
    unit: async () => ({ active: docker }),
    sql: async () => {
      asked.push('sql');
      return { ok: false, error: 'no container' };
    },
  } as unknown as Reader;
  return { reader, asked };
}

test.each(['database', 'rpc'])(
  'a stopped Docker engine is not queried, because that would start it: %s',
  async (group) => {
    const { hosts } = await loadDeployment(await labDeployment());
    const host = hosts.find(({ groups }) => groups.includes(group));
    if (!host) throw new Error(`no host in ${group}`);
    const stopped = bareHost('inactive');
    const state = await readHost(stopped.reader, host);
    expect(state).toMatchObject({
      docker: 'inactive',
      disks: [],
      log: undefined,
      chain: {
        own: {
          ok: false,
          error:
            group === 'database'
              ? 'the Docker engine does not run'
              : expect.stringMatching(/ does not answer: no answer$/),
        },
      },
    });
    // Docker's root is read by a command that checks for the engine first.
    const asked = stopped.asked.filter((text) => !text.includes('systemctl is-active --quiet docker.service'));
    expect(asked.filter((text) => /docker|container|sql/.test(text))).toEqual([]);

    const running = bareHost('active');
    await readHost(running.reader, host);
    expect(running.asked.filter((text) => /^container/.test(text))).toHaveLength(5);
  },
);

test.each([
  ['AC1E4D0A,172.30.77.10,11,1.5,0.000012,0,0,0,0,0,0,1,64,Normal', 0, { offServer: 0.000012, fault: undefined }],
  [
    'AC1E4D0A,172.30.77.10,11,1.5,-3.2,0,0,0,0,0,0,1,64,Normal',
    0,
    { offServer: -3.2, fault: expect.stringContaining('off') },
  ],
  ['00000000,,0,0,0,0,0,0,0,0,0,1,0,Not synchronised', 0, { server: undefined, fault: expect.any(String) }],
  ['', 127, { fault: 'chrony is not installed' }],
  ['', 1, { fault: 'chronyd does not answer' }],
])('the clock is read from chrony: %s', async (text, exitCode, expected) => {
  const { hosts } = await loadDeployment(await labDeployment());
  const { reader } = bareHost('inactive', new Output(exitCode, Buffer.from(text), ''));
  const { clock } = await readHost(reader, hosts[0] as (typeof hosts)[number]);
  expect(clock).toMatchObject(expected);
});
