import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { eventFormat } from '../output/event-json.ts';
import { readRecord, recordsIn } from './record.ts';
import { parseRecordName, safeName } from './record-name.ts';
import { failedRun, killedRun } from './testdata/runs.ts';
import { recorded, recordText } from './testdata/scripted-run.ts';

function fileOf(text: string): string {
  const path = join(temporaryDirectory(), 'record.ndjson');
  writeFileSync(path, text);
  return path;
}

const started = JSON.stringify({
  format: eventFormat,
  time: '2024-11-21T16:42:35.000Z',
  type: 'run-started',
  playbook: 'deploy',
  inventory: 'lab',
  check: false,
  hosts: [],
});

test('every event of a run is read back', () => {
  const all = failedRun();
  const events = readRecord(fileOf(recordText(all)));
  expect(events).toEqual(recorded(all));
  expect(events).toHaveLength(all.length);
});

test('a record of the version before is read whole', () => {
  const events = readRecord(new URL('testdata/record-fb38ac533be7.ndjson', import.meta.url).pathname);
  expect(events).toHaveLength(9);
  expect(events[0]).toMatchObject({ type: 'run-started', playbook: 'operators', hosts: ['db-1'] });
  expect(events.at(-1)).toMatchObject({
    type: 'run-finished',
    hosts: [{ host: 'db-1', counts: { changed: 2 } }],
  });
});

test('an incomplete last line is left out, a complete one without its line break is read', () => {
  const text = recordText(killedRun());
  const all = killedRun().length;
  expect(readRecord(fileOf(text.trimEnd()))).toHaveLength(all);
  expect(readRecord(fileOf(text.slice(0, -20)))).toHaveLength(all - 1);
  expect(readRecord(fileOf(`${started}\n\u0000\u0000\u0000`))).toHaveLength(1);
});

test('fields and events of a later version are ignored', () => {
  const later = '{"format":1,"time":"2024-11-21T16:42:36.000Z","type":"lock-taken","by":"somebody"}';
  const wider = started.replace('"hosts"', '"forks":25,"hosts"');
  expect(readRecord(fileOf(`${wider}\n${later}\n`))).toHaveLength(1);
});

test.each([
  ['not JSON', 'Killed', 2, 'this line is not JSON'],
  [
    'another format',
    started.replace('"format":1', '"format":2'),
    2,
    'this event has format 2; only format 1 is supported',
  ],
  [
    'a field that is missing',
    started.replace('"check":false,', ''),
    2,
    'this line is not an event: check: Invalid input: expected boolean, received undefined',
  ],
  [
    'a duration that no run has',
    started.replace('"run-started"', '"host-connected","host":"a","seconds":-1'),
    2,
    'this line is not an event: seconds: Too small: expected number to be >=0',
  ],
  ['not an event', '[1]', 2, /^this line is not an event: /],
])('a bad line is refused with its place: %s', (_, line, number, message) => {
  const file = fileOf(`${started}\n${line}\n${started}\n`);
  expect(() => readRecord(file)).toThrow(
    expect.objectContaining({
      message: typeof message === 'string' ? message : expect.stringMatching(message),
      where: { file, line: number },
      hint: 'remove this line, or choose another record: --list shows them',
    }),
  );
});

test('a file without a run is refused', () => {
  expect(() => readRecord(fileOf(''))).toThrow('it holds no event');
  expect(() => readRecord(fileOf('{"format":1,"time":"2024-11-21T16:42:36Z","type":"stopping"}\n'))).toThrow(
    'it holds no start of a run',
  );
  expect(() => readRecord('/nowhere.ndjson')).toThrow('there is no record /nowhere.ndjson');
});

test('records are found newest first, and only regular files with our names', () => {
  const folder = temporaryDirectory();
  for (const name of [
    '20240101T000000Z-lab.ndjson',
    '20240102T000000Z-a-b.ndjson',
    '2024-lab.ndjson',
    'x.ndjson',
    '20240103T000000Z-lab.html',
  ]) {
    writeFileSync(join(folder, name), '');
  }
  expect(recordsIn(folder).map(({ time, inventory }) => [time, inventory])).toEqual([
    ['20240102T000000Z', 'a-b'],
    ['20240101T000000Z', 'lab'],
  ]);
  mkdirSync(join(folder, '20240105T000000Z-lab.ndjson'));
  symlinkSync('/etc/hostname', join(folder, '20240106T000000Z-lab.ndjson'));
  expect(recordsIn(folder)).toHaveLength(2);
  expect(recordsIn(join(folder, 'none'))).toEqual([]);
  expect(parseRecordName(`20240101T000000Z-${safeName('a/../b c')}.ndjson`)?.inventory).toBe('a-b-c');
  expect(safeName('')).toBe('unnamed');
});
