import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { done, finished, LiveRun, progress, started } from './live-run.ts';
import { install } from './tmux.ts';

beforeAll(() => install('tmux'));

let run: LiveRun | undefined;
afterEach(() => run?.close());

async function begin(columns: number, rows: number, hosts: readonly string[], ...words: readonly string[]) {
  run = await LiveRun.begin(columns, rows, hosts, ...words);
  return { live: run, terminal: run.terminal };
}

const fifty = Array.from({ length: 50 }, (_, i) => `rpc-${String(i + 1).padStart(2, '0')}`);
const archive = '/data/snapshots/mainnet_state_db.sql.tar.gz is downloaded';
const downloaded = (gigabytes: number) =>
  ({
    what: 'downloading the archive',
    done: gigabytes * 2 ** 30,
    total: 40 * 2 ** 30,
    unit: 'bytes',
  }) as const;

test('50 hosts on 24 rows: the important ones are shown, also after many changes of size', async () => {
  const { live, terminal } = await begin(80, 24, fifty);
  await live.start(4);
  await terminal.until((screen) => screen.at(-1)?.startsWith('0 of 50 hosts done, 50 waiting') ?? false);
  // The screen is full before it is resized, as after a few tasks of a real run.
  for (const host of fifty)
    await live.send(started(host, 'packages'), done(host, 'packages'), started(host, archive));
  await live.send(progress('rpc-37', archive, downloaded(10)));
  const wide = await terminal.until((screen) => screen.some((row) => row.includes('25%')));
  expect(wide).toHaveLength(24);
  expect(wide[16]).toMatch(/^rpc-37 {2}0:0\d {2}1\/4 {2}docker: \/data\/snapshots\/mainnet/);
  expect(wide[17]).toMatch(/^ {4}\[#{4,}\.+\] {2}25% {2}10\.0 GiB of 40\.0 GiB/);
  expect(wide[18]).toMatch(/^rpc-01 {2}0:0\d {2}1\/4 {2}docker: \/data\/snapshots/);
  expect(wide.slice(-2).join('\n')).toMatch(/^… and 45 more\n0 of 50 hosts done, 50 busy {2}0:\d\d$/);

  let again = 0;
  const more = async () => {
    for (let i = 0; i < 8; i += 1)
      await live.send(started('rpc-01', `task ${++again}`), done('rpc-01', `task ${again}`));
  };
  for (const [columns, rows] of [
    [40, 24],
    [80, 24],
    [40, 24],
    [80, 24],
    [60, 12],
    [132, 43],
    [80, 24],
  ] as const) {
    terminal.resize(columns, rows);
    await more();
    await delay(300);
    const screen = await terminal.until((shown) => /^\d of 50|^\d\/50/.test(shown.at(-1) ?? ''));
    const { column, row, shown } = terminal.cursor();
    expect({ column, shown, on: screen[row] }).toEqual({ column: 0, shown: true, on: '' });
    expect(screen.slice(row + 1)).toHaveLength(Math.floor(rows / 3));
    for (const line of screen.slice(row + 1)) expect(line.length).toBeLessThan(columns);
    expect(screen.slice(row + 1, -2).join('\n')).toMatch(/^rpc-37.*\n.*25%.*(\nrpc-\d\d .*0:.*)*$/);
    expect(screen.slice(0, row).filter((line) => /0:\d\d|… and|of 50/.test(line))).toEqual([]);
  }
  // Like a window that is dragged smaller and larger again.
  const smaller = Array.from({ length: 41 }, (_, at) => [80 - at, 24] as const);
  terminal.drag([...smaller, ...smaller.toReversed()]);
  await more();

  for (const host of fifty) {
    await live.send(host === 'rpc-07' ? done(host, archive, 'failed', 'it broke') : done(host, archive));
  }
  await live.send(finished(fifty, ['rpc-07']));
  await terminal.until((screen) => screen.at(-1) === 'shell>');
  const shownOnce = terminal.everything();
  // A terminal tells its new width a moment later, so rows are compared without the breaks that
  // the width decides.
  const whole = shownOnce
    .join('\n')
    .replaceAll(/\n {15,16}(?=\S)/g, ' ')
    .split('\n');
  const lines = whole.slice(whole.findIndex((row) => row.startsWith('play: servers')));
  const expected = [
    `play: servers  ${fifty.join(', ')}`,
    ...fifty.map((host) => `${host}  changed docker: packages`),
    ...Array.from({ length: again }, (_, i) => `rpc-01  changed docker: task ${i + 1}`),
    ...fifty.flatMap((host) =>
      host === 'rpc-07'
        ? [`rpc-07  failed  docker: ${archive}`, 'rpc-07    it broke']
        : [`${host}  changed docker: ${archive}`],
    ),
    '',
    '        ok  changed  unknown  warnings  failed   time',
    ...fifty.map((host) => {
      const [changed, failed] = host === 'rpc-07' ? [0, 1] : [3, 0];
      return `${host}   0        ${changed}        0         0       ${failed}  5.0 s`;
    }),
    '50 hosts in 12 s',
    'rpc-07: task failed',
    'shell>',
  ];
  expect(lines).toEqual(expected);
});

test('a download shows a bar, bytes, rate and the time left, in 80, 40 and 20 columns', async () => {
  const { live, terminal } = await begin(80, 24, ['db-1', 'rpc-1']);
  await live.start(9);
  await live.send(
    started('db-1', archive),
    started('rpc-1', 'daemon.json'),
    progress('db-1', archive, downloaded(1)),
  );
  await delay(1100);
  await live.send(progress('db-1', archive, downloaded(2)));
  const wide = await terminal.until((screen) => screen.some((row) => row.includes('/s ')));
  expect(wide.slice(-4).join('\n')).toMatch(
    /^db-1 {3}0:0\d {2}0\/9 {2}docker: \/data\/snapshots\/mainnet_state_db\.sql\.tar\.gz is downl…\n {4}\[\.{10,}\] {3}5% {2}2\.0 GiB of 40\.0 GiB {2}\S+ MiB\/s {2}\d+ s left\nrpc-1 {2}0:0\d {2}0\/9 {2}docker: daemon\.json\n0 of 2 hosts done, 2 busy {2}0:0\d$/,
  );
  terminal.resize(40, 24);
  const narrow = await terminal.until(
    (screen) =>
      (screen.at(-1)?.startsWith('0 of 2 hosts') === true && screen.every((row) => row.length < 40)) ?? false,
  );
  expect(narrow.slice(-4).join('\n')).toMatch(
    /^db-1 {2}0:0\d docker: \/data\/snapshots\/mai…\n +5% .*\/s .* left\nrpc-1 0:0\d docker: daemon\.json\n0 of 2 hosts done, 2 busy {2}0:0\d$/,
  );
  terminal.resize(20, 24);
  const narrowest = await terminal.until((screen) => screen.at(-1)?.startsWith('0/2 done') ?? false);
  expect(narrowest.slice(-4).join('\n')).toMatch(
    /^db-1 {2}0:0\d docker:…\n +5% {2}\d+ s left\nrpc-1 0:0\d docker:…\n0\/2 done {2}0:0\d$/,
  );
});

test('characters of two columns, and emoji, wrap no line', async () => {
  const hosts = ['数据库-一', '伺服器🚀'];
  const { live, terminal } = await begin(40, 24, hosts);
  await live.start(2);
  const title = '文件在它应该在的地方并且内容是正确的🚀🚀🚀🚀🚀🚀🚀';
  for (const host of hosts) await live.send(started(host, title));
  const screen = await terminal.until(
    (rows) => rows.at(-1)?.startsWith('0 of 2 hosts done, 2 busy') ?? false,
  );
  expect(screen.slice(-3).join('\n')).toMatch(
    /^数据库-一 0:0\d docker: 文件在它应该在…\n伺服器🚀 {2}0:0\d docker: 文件在它应该在…\n0 of 2 hosts done/,
  );
  await live.send(...hosts.map((host) => done(host, title)), finished(hosts));
  await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(terminal.everything().filter((row) => row.includes('docker: '))).toEqual(
    hosts.map((host) => `${host.padEnd(6)}  changed docker: ${title}`),
  );
});

test('--quiet shows live lines too, and only problems above them', async () => {
  const { live, terminal } = await begin(80, 24, ['a', 'b'], '--quiet');
  await live.start(3);
  await live.send(started('a', 'one'), done('a', 'one'), started('a', 'two'), started('b', 'one'));
  await live.send(done('b', 'one', 'failed', 'no room left'));
  const screen = await terminal.until((rows) => rows.at(-1)?.includes('1 failed') ?? false);
  expect(screen.map((row) => row.replace(/\d:\d\d/, 'T'))).toEqual([
    'b       failed  docker: one',
    'b         no room left',
    '',
    'a  T  1/3  docker: two',
    '0 of 2 hosts done, 1 busy, 1 failed  T',
  ]);
});

test('between check and change, where a question may be asked, nothing is drawn', async () => {
  const { live, terminal } = await begin(80, 24, ['a', 'b']);
  const runStarted = {
    type: 'run-started',
    playbook: 'deploy',
    inventory: 'test',
    check: false,
    hosts: ['a', 'b'],
  } as const;
  await live.send(runStarted, { type: 'host-looked', host: 'a', tasks: 3 });
  await terminal.until((rows) => rows.at(-1)?.startsWith('checked 1 of 2 hosts  0:0') ?? false);
  await live.send({ type: 'host-looked', host: 'b', tasks: 3 });
  await terminal.until((rows) => rows.at(-1) === 'deploy on test: a, b');
  terminal.press('half an answer');
  await delay(1500);
  expect(terminal.screen()).toEqual(['deploy on test: a, b', 'half an answer']);
});

async function busyRun() {
  const { live, terminal } = await begin(80, 24, ['a', 'b']);
  await live.start(3);
  await live.send(started('a', 'one'), started('b', 'two'));
  await terminal.until((rows) => rows.at(-1)?.startsWith('0 of 2 hosts done, 2 busy') ?? false);
  return { live, terminal };
}

test('a process that ends during a run removes its lines, and shows what was interrupted', async () => {
  const { live, terminal } = await busyRun();
  live.end({ type: 'exit', code: 130 });
  const screen = await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(screen).toEqual([
    'deploy on test: a, b',
    '',
    'play: servers  a, b',
    'a       cut off: docker: one',
    'b       cut off: docker: two',
    'stopped at once: the next run continues from here',
    'shell>',
  ]);
  expect(terminal.cursor()).toEqual({ column: 7, row: 6, shown: true });
});

test('an uncaught error leaves the terminal in its normal state', async () => {
  const { live, terminal } = await busyRun();
  live.end({ type: 'throw', error: 'a fault of ours' });
  const screen = await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(screen.join('\n')).toContain('Error: a fault of ours');
  expect(screen.join('\n')).not.toContain('busy');
  expect(terminal.cursor()).toMatchObject({ column: 7, shown: true });
});

test('a killed process leaves a prompt that can be used', async () => {
  const { live, terminal } = await busyRun();
  live.end({ type: 'kill' });
  await terminal.until((rows) => rows.some((row) => row.startsWith('shell>')));
  expect(terminal.cursor()).toMatchObject({ column: 7, shown: true });
});

test('Ctrl-Z removes the lines, and fg draws them again', async () => {
  const { live, terminal } = await busyRun();
  terminal.press('C-z');
  const stopped = await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(stopped.filter((row) => row.includes('busy') || row.includes('docker: one'))).toEqual([]);
  terminal.press('fg', 'Enter');
  await terminal.until((rows) => rows.at(-1)?.startsWith('0 of 2 hosts done, 2 busy') ?? false);
  await live.send(done('a', 'one'), done('b', 'two'), finished(['a', 'b']));
  await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(terminal.everything().filter((row) => row.includes('busy'))).toEqual([]);
});
