import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { checkRun, failedRun, killedRun } from '../../engine/report/testdata/runs.ts';
import { recordText } from '../../engine/report/testdata/scripted-run.ts';
import { run as reportCommand } from './command.ts';

function records() {
  const folder = temporaryDirectory();
  const save = (name: string, text: string) => writeFileSync(join(folder, `${name}.ndjson`), text);
  save('20241121T164235Z-lab', recordText(failedRun()));
  save('20241122T000000Z-lab', recordText(killedRun()).slice(0, -9));
  save('20241123T000000Z-mainnet', recordText(checkRun()));
  return folder;
}

async function run(folder: string, ...args: string[]) {
  const said: string[] = [];
  const complained: string[] = [];
  const code = await reportCommand(args, {
    folder,
    say: (line) => said.push(line),
    complain: (line) => complained.push(line),
  });
  return { code, said, complained };
}

test('the report of the newest run is written beside its record with mode 0600, also over an older report', async () => {
  const folder = records();
  const out = join(folder, '20241123T000000Z-mainnet.html');
  writeFileSync(out, '<!doctype html>\n<title>older</title>\n');
  chmodSync(out, 0o644);
  expect(await run(folder)).toEqual({ code: 0, said: [out], complained: [] });
  expect(readFileSync(out, 'utf8')).toContain(
    '<title>deploy on lab: unreachable: rpc-3; 4 pending, 2 unknown</title>',
  );
  expect(statSync(out).mode & 0o777).toBe(0o600);
});

test('paths below the working directory are shown as relative, all others as absolute', async () => {
  const folder = records();
  const name = '20241123T000000Z-mainnet.html';
  const directory = vi.spyOn(process, 'cwd');
  onTestFinished(() => directory.mockRestore());
  directory.mockReturnValue(join(folder, '..'));
  expect((await run(folder)).said).toEqual([join(basename(folder), name)]);
  // `../20241123…` is shorter, but depends on the working directory.
  directory.mockReturnValue(join(folder, 'beside'));
  expect((await run(folder)).said).toEqual([join(folder, name)]);
});

test('the inventory, the record (by path or name) and the output file can be chosen', async () => {
  const folder = records();
  const out = join(folder, 'deep/report.html');
  for (const args of [
    ['-i', 'lab'],
    ['--inventory', 'inventory/lab.yaml'],
  ]) {
    expect((await run(folder, ...args)).said).toEqual([join(folder, '20241122T000000Z-lab.html')]);
  }
  for (const record of [
    '20241121T164235Z-lab',
    '20241121T164235Z-lab.ndjson',
    join(folder, '20241121T164235Z-lab.ndjson'),
  ]) {
    expect(await run(folder, record, '--out', out)).toEqual({ code: 0, said: [out], complained: [] });
    expect(readFileSync(out, 'utf8')).toContain('failed: rpc-2');
  }
});

test('records are listed newest first, also an unreadable one', async () => {
  const folder = records();
  writeFileSync(join(folder, '20241120T000000Z-lab.ndjson'), 'x\n');
  const { code, said } = await run(folder, '--list');
  expect(code).toBe(0);
  expect(said.map((line) => line.replace(/ {2,}/g, ' | ').replaceAll(folder, ''))).toEqual([
    '2024-11-21 16:42:35 UTC | deploy --check | lab | 4 hosts | unreachable: rpc-3; 4 pending, 2 unknown | /20241123T000000Z-mainnet.ndjson',
    '2024-11-21 16:42:35 UTC | deploy | lab | 3 hosts | no end is recorded: the run was killed, or is still running | /20241122T000000Z-lab.ndjson',
    '2024-11-21 16:42:35 UTC | deploy | lab | 3 hosts | failed: rpc-2 | /20241121T164235Z-lab.ndjson',
    ` | cannot be read: /20241120T000000Z-lab.ndjson:1: this line is not JSON | /20241120T000000Z-lab.ndjson`,
  ]);
  expect((await run(folder, '--list', '-i', 'mainnet')).said).toHaveLength(1);
  expect(await run(join(folder, 'none'), '--list')).toMatchObject({
    code: 0,
    said: [expect.stringContaining('no run is recorded in')],
  });
});

test('a report never overwrites its record', async () => {
  const folder = records();
  const record = join(folder, '20241121T164235Z-lab.ndjson');
  expect(await run(folder, record, '--out', record)).toEqual({
    code: 3,
    said: [],
    complained: [`${record} is the record itself\n  choose another file: --out FILE`],
  });
  // Nor another file than a report.
  const inventory = join(folder, 'mainnet.yaml');
  writeFileSync(inventory, 'groups:\n');
  expect(await run(folder, record, '--out', inventory)).toEqual({
    code: 3,
    said: [],
    complained: [
      `${inventory} is there and is not a report: it is not replaced\n  choose another name, or remove the file`,
    ],
  });
  expect(readFileSync(inventory, 'utf8')).toBe('groups:\n');
  expect(await run(folder, record, '--out', join(inventory, 'page.html'))).toMatchObject({
    code: 3,
    complained: [`cannot write ${inventory}/page.html (a part of its path is a file)`],
  });
  const page = join(folder, 'page.html');
  for (let times = 0; times < 2; times += 1)
    expect(await run(folder, record, '--out', page)).toMatchObject({ code: 0 });
});

test('bad input ends with 3 and one clear message, and writes nothing', async () => {
  const folder = records();
  const bad = join(folder, 'bad.ndjson');
  writeFileSync(bad, `${recordText(failedRun())}half a li\nne\n`);
  const line = readFileSync(bad, 'utf8').split('\n').length - 2;
  mkdirSync(join(folder, 'taken.html'));
  const refused = async (message: string, ...args: string[]) =>
    expect(await run(folder, ...args)).toEqual({ code: 3, said: [], complained: [message] });
  await refused('unknown option "--lst"\n  did you mean --list?', '--lst');
  await refused('unexpected word "b"\n  a report is of one record; see --help', 'a', 'b');
  await refused('RECORD and --inventory do not go together\n  either chooses the record', 'a', '-i', 'lab');
  await refused('--list writes no report\n  leave out --out', '--list', '--out', 'x');
  await refused(
    'there is no record 20241121T164235Z-lb\n  did you mean 20241121T164235Z-lab.ndjson?',
    '20241121T164235Z-lb',
  );
  await refused(`no run of mainet is recorded in ${folder}\n  did you mean mainnet?`, '-i', 'mainet');
  await refused(
    `no run of mainet is recorded in ${folder}\n  did you mean mainnet?`,
    '--list',
    '-i',
    'mainet',
  );
  await refused(
    `${bad}:${line}: this line is not JSON\n  remove this line, or choose another record: --list shows them`,
    bad,
  );
  await refused(`${folder}/taken.html exists and is not a file`, '--out', join(folder, 'taken.html'));
  await refused('--out names no file\n  name a file: --out report.html', '--out', '');
  expect(await run(join(folder, 'none'))).toMatchObject({
    code: 3,
    complained: [expect.stringMatching(/^no run is recorded in .*\n {2}each run leaves a record: /)],
  });
});

test('help shows every option, with examples', async () => {
  const { code, said } = await run('/nowhere', '--help');
  expect(code).toBe(0);
  for (const word of ['--inventory', '--out', '--list', '[RECORD]', 'Examples', 'Exit codes'])
    expect(said.join('\n')).toContain(word);
});
