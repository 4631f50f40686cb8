import { describe, expect, test } from 'vitest';
import { plainOutput } from '../../engine/output/plain.ts';
import { plainStyle as style } from '../../engine/output/testing/plain-style.ts';
import type { Planned } from '../../engine/run/plan.ts';
import type { Confirmed } from '../../engine/run/run-options.ts';
import { asking, confirmEachOn, confirmPlan, refuseUnasked } from './confirm.ts';

const planned = (resource: string, outcome: Planned['outcome'], more: Partial<Planned> = {}): Planned => ({
  task: { host: 'rpc-1', play: 'p', role: 'docker', resource },
  outcome,
  differences: [],
  note: undefined,
  error: undefined,
  steps: [],
  predicted: false,
  ...more,
});

async function confirmed(answer: string) {
  const said: string[] = [];
  const plans = [
    {
      host: 'rpc-1',
      tasks: [
        planned('a', 'pending', {
          differences: [{ what: 'mode', was: '0644', wanted: '0600' }],
          steps: [
            { do: 'run', command: 'chmod 600 /a' },
            { do: 'run', command: 'sh -c one\ntwo\nthree' },
          ],
        }),
        planned('b', 'unknown', { note: 'is checked again after a' }),
        planned('c', 'ok'),
      ],
    },
    { host: 'db-1', tasks: [planned('c', 'ok')] },
  ];
  const yes = await confirmPlan(
    plans,
    style,
    (line) => said.push(line),
    async (question) => {
      said.push(question);
      return answer;
    },
  );
  return { yes, said };
}

test('the plan is shown with diffs and commands, and a confirmation is asked for', async () => {
  const { said } = await confirmed('');
  expect(said).toEqual([
    'rpc-1  pending docker: a',
    'rpc-1    mode: 0644 -> 0600',
    'rpc-1    $ chmod 600 /a',
    'rpc-1    $ sh -c one … (2 more lines: --diff)',
    'rpc-1  unknown docker: b  (is checked again after a)',
    '',
    'rpc-1  1 to change, 1 unknown or dependent',
    'make these changes on rpc-1? [y/N] ',
  ]);
});

test.each([
  ['y', true],
  ['yes', true],
  ['', false],
  ['n', false],
  ['yep', false],
])('the answer %j', async (answer, expected) => {
  expect((await confirmed(answer)).yes).toBe(expected);
});

test('without a terminal nothing is done to a host whose name would have to be typed', async () => {
  const plans = [
    { host: 'rpc-1', tasks: [planned('a', 'pending')] },
    { host: 'db-1', tasks: [planned('c', 'ok')] },
  ];
  expect(await refuseUnasked(plans, ['db-1'])).toBe(true);
  await expect(refuseUnasked(plans, ['rpc-1'])).rejects.toThrow(
    'the name rpc-1 has to be typed, and there is no terminal to ask on',
  );
});

describe('each change is asked about', () => {
  const long = Array.from({ length: 30 }, (_, i) => `line ${i}`).join('\n');
  const seen = { is: 'drift', differences: [{ what: 'content', was: '', wanted: long }] } as const;
  const { task } = planned('a', 'pending');

  /** The answers to this number of changes. */
  async function asked(changes: number, ...answers: readonly (string | undefined)[]) {
    const [said, left]: [string[], (string | undefined)[]] = [[], [...answers]];
    const ask = confirmEachOn(
      style,
      (line) => void said.push(line),
      async () => left.shift(),
    );
    const confirmed = [];
    for (let i = 0; i < changes; i++) confirmed.push(await ask(task, seen));
    return { confirmed, said, left };
  }

  test.each<[string, readonly (string | undefined)[], readonly Confirmed[]]>([
    ['yes, and no skips one', ['y', 'no', 'yes'], ['change', 'skip', 'change']],
    ['all makes the rest', ['n', 'a'], ['skip', 'change', 'change']],
    ['quit ends the run', ['y', 'quit'], ['change', 'quit', 'quit']],
    ['Ctrl-C ends the run', [undefined], ['quit', 'quit', 'quit']],
    ['a typing error asks again', ['x', '', 'yep', 'y', 'q'], ['change', 'quit', 'quit']],
  ])('%s', async (_, answers, expected) => {
    const { confirmed, left } = await asked(3, ...answers);
    expect(confirmed).toEqual(expected);
    expect(left).toEqual([]);
  });

  test('what is not an answer is repeated with the answers there are', async () => {
    expect((await asked(1, 'Y\u001b', 'n')).said.at(-1)).toBe('"Y\\x1b" is not an answer: y, n, a, q or d');
  });

  test('diff shows all of the change and asks again', async () => {
    const { confirmed, said } = await asked(1, 'd', 'n');
    expect(confirmed).toEqual(['skip']);
    expect(said.filter((line) => line.includes('(--diff shows them)'))).toHaveLength(1);
    expect(said.filter((line) => line.includes('line 29'))).toHaveLength(1);
  });
});

test('a warning of several hosts is in the plan once, below the changes', async () => {
  const said: string[] = [];
  const small = (host: string) => {
    const { task, ...rest } = planned('server has 64 CPU cores', 'warning', { note: 'it has 8' });
    return { host, tasks: [{ ...rest, task: { ...task, host } }] };
  };
  const plans = [small('db-1'), { host: 'rpc-1', tasks: [...small('rpc-1').tasks, planned('a', 'pending')] }];
  await confirmPlan(
    plans,
    style,
    (line) => void said.push(line),
    async () => '',
  );
  expect(said.slice(0, 3)).toEqual([
    'rpc-1  pending docker: a',
    'db-1, rpc-1  warning docker: server has 64 CPU cores  (it has 8)',
    '',
  ]);
});

test.each([
  [true, /^rpc-1 +0 +0 .*\n1 host in 1\.0 s\n$/m],
  [false, /^$/],
])('after the answer %s the table of results follows only if something was done', async (yes, expected) => {
  let text = '';
  const { confirm, show } = asking(
    async () => yes,
    plainOutput((line) => {
      text += line;
    }, style),
  );
  expect(await confirm([])).toBe(yes);
  const counts = { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };
  const hosts = [
    { host: 'rpc-1', counts, unreachable: false, stopped: undefined, seconds: 1, roundTrips: 1 },
  ];
  show({ type: 'run-finished', hosts, seconds: 1, interrupted: false });
  expect(text).toMatch(expected);
});
