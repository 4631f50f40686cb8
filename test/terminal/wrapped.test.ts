import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { done, finished, LiveRun } from './live-run.ts';
import { install, Terminal } from './tmux.ts';

beforeAll(() => install('tmux'));

let terminal: { close(): void } | undefined;
afterEach(() => terminal?.close());

/**
 * What a playbook prints on a terminal. Rows that the terminal itself breaks are joined: they are
 * wider than it.
 */
async function printed(columns: number, command: string): Promise<string[]> {
  const shell = new Terminal(columns, 60, 'bash', '--norc', '--noprofile');
  onTestFinished(() => shell.close());
  shell.press('-l', `clear; node node_modules/zx/build/cli.js playbooks/${command}`);
  shell.press('Enter');
  await shell.until((screen) => screen.length > 1 && screen.at(-1) === 'shell>', 60);
  return shell.everything().slice(0, -1);
}

const hint = [
  '  --read for a command that only reads, --change for one that may change the host: it takes the locks',
];

describe('the words of a playbook', () => {
  test.each([
    [120, hint],
    [
      80,
      [
        '  --read for a command that only reads, --change for one that may change the',
        '      host: it takes the locks',
      ],
    ],
    [
      40,
      [
        '  --read for a command that only reads,',
        '      --change for one that may change',
        '      the host: it takes the locks',
      ],
    ],
  ])('are wrapped to %i columns', async (columns, expected) => {
    const rows = await printed(columns, 'run.mjs -i mainnet -- uptime');
    expect(rows.slice(-expected.length - 1)).toEqual(['neither --read nor --change is given', ...expected]);
  });

  test('are whole in a pipe, and for a command that is copied', async () => {
    expect((await printed(40, 'run.mjs -i mainnet -- uptime 2>&1 | cat')).slice(-1)).toEqual(hint);
    expect((await printed(40, 'deploy.mjs -i mainnet --list-tasks')).slice(-1)).toEqual([
      '  npx zx playbooks/secrets.mjs --inventory mainnet generate',
    ]);
  });

  test('are measured by what a terminal shows: wide characters take two columns', async () => {
    const said = await printed(40, `report.mjs '数据库 伺服器 数据库 伺服器 数据库.ndjson'`);
    // Behind them are the records that there are.
    const first = said.findIndex((row) => row.startsWith('there is no record'));
    expect(said.slice(first, first + 2)).toEqual([
      'there is no record 数据库 伺服器 数据库',
      '    伺服器 数据库.ndjson',
    ]);
  });

  test.each([80, 40])('and its help fit in %i columns, but for commands', async (columns) => {
    const rows = await printed(columns, 'status.mjs --help');
    expect(rows.filter((row) => row.length > columns && !/^(Usage: | {2})npx zx /.test(row))).toEqual([]);
    expect(rows).toContain(
      '  npx zx playbooks/status.mjs --inventory mainnet --max-behind 100 --stale-after 15m',
    );
  });
});

const error =
  'the host has to reach download.docker.com:443\n  allow it in the firewall of the data centre, or name a mirror that it reaches: see docs/configuration.md';

test.each([
  [
    80,
    [
      'a       failed  docker: daemon.json has all keys of the inventory, and those',
      '                that were there before it',
      'a         the host has to reach download.docker.com:443',
      'a           allow it in the firewall of the data centre, or name a mirror that',
      '              it reaches: see docs/configuration.md',
    ],
  ],
  [
    40,
    [
      'a       failed  docker: daemon.json has',
      '                all keys of the',
      '                inventory, and those',
      '                that were there before',
      '                it',
      'a         the host has to reach',
      '            download.docker.com:443',
      'a           allow it in the firewall of',
      '              the data centre, or name a',
      '              mirror that it reaches:',
      '              see docs/configuration.md',
    ],
  ],
])('the errors of a run in %i columns are wrapped behind the name of the host', async (columns, expected) => {
  const live = await LiveRun.begin(columns, 24, ['a', 'b']);
  terminal = live;
  await live.start(1);
  const title = 'daemon.json has all keys of the inventory, and those that were there before it';
  await live.send(done('a', title, 'failed', error), finished(['a', 'b'], ['a']));
  await live.terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(live.terminal.everything().slice(3, 3 + expected.length)).toEqual(expected);
});
