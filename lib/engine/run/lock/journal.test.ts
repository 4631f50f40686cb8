import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { RecordedRead } from '../../host/reads/recorded-read.ts';
import type { Session } from '../../host/session.ts';
import { command } from '../../host/step.ts';
import { connectLocally, temporaryDirectory } from '../../host/testing/local-connection.ts';
import { drift } from '../../resource/resource.ts';
import { endOf } from '../host-end.ts';
import { HostRun } from '../host-run.ts';
import { appending, beginLine, endLine, parseJournal } from './journal.ts';
import { thisHolder } from './lock-holder.ts';

const holder = thisHolder('deploy', 'lab', Date.now());
const task = { host: 'h', play: 'p', role: 'r', resource: 'file /etc/a' };
const taskRun = (change: string) => ({
  task,
  resource: { name: task.resource, check: async () => drift('differs', []) },
  seen: drift('differs', [command`echo ${change}`]),
  seenIn: 0,
  reads: new Set<RecordedRead>(),
});
const hostRun = () => new HostRun('h', {} as Session, () => {});

async function journal() {
  const connection = await connectLocally();
  onTestFinished(() => connection.close());
  const folder = join(temporaryDirectory(), 'state');
  const file = join(folder, 'journal.jsonl');
  return {
    file,
    add: (line: string) => connection.exec(appending(line, folder)),
    text: () => readFileSync(file, 'utf8'),
  };
}

test('a run is two lines: who began what, and how it ended', async () => {
  const { add, text } = await journal();
  const host = hostRun();
  host.done(task, 'changed');
  await add(beginLine(holder, [taskRun('1')], 0));
  await add(endLine(holder, endOf(host, false)));
  const { lines, bad } = parseJournal(text());
  expect(bad).toBe(0);
  expect(lines).toEqual([
    {
      at: 'begin',
      run: holder.token,
      time: '1970-01-01T00:00:00.000Z',
      who: holder.who,
      playbook: 'deploy',
      inventory: 'lab',
      commit: expect.stringMatching(/^[0-9a-f]{12}(-dirty)?$/),
      plan: expect.stringMatching(/^[0-9a-f]{16}$/),
    },
    {
      at: 'end',
      run: holder.token,
      time: expect.any(String),
      ended: 'converged',
      changed: ['file /etc/a'],
      failed: [],
    },
  ]);
});

test('the hash of a plan changes with its steps', () => {
  const plan = (change: string) => JSON.parse(beginLine(holder, [taskRun(change)], 0)).plan;
  expect(plan('1')).toBe(plan('1'));
  expect(plan('1')).not.toBe(plan('2'));
});

test('writers at the same moment neither lose nor mix lines, of any length', async () => {
  const { add, text } = await journal();
  const lines = Array.from({ length: 20 }, (_, at) =>
    JSON.stringify({ at, text: String(at).repeat(20_000) }),
  );
  await Promise.all(lines.map(add));
  expect(text().trimEnd().split('\n').sort()).toEqual([...lines].sort());
});

test('a line that was cut off does not swallow the next one', async () => {
  const { add, text, file } = await journal();
  await add('{"at":"first"}');
  writeFileSync(file, '{"at":"beg', { flag: 'a' });
  await add(beginLine(holder, [], 0));
  expect(text().split('\n')).toHaveLength(4);
  expect(parseJournal(text())).toMatchObject({ lines: [{ at: 'begin' }], bad: 2 });
});

test('a journal that cannot be written ends the script before the change', async () => {
  const connection = await connectLocally();
  onTestFinished(() => connection.close());
  const { code, stdout, stderr } = await connection.exec(`${appending('{}', '/proc/none')}echo changed`);
  expect([code, stdout.toString()]).toEqual([1, '']);
  expect(stderr.toString()).toContain('the journal in /proc/none cannot be written');
});
