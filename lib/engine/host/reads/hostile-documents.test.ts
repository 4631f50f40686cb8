import { expect, test } from 'vitest';
import { cpuSeconds } from '../../testing/cpu-seconds.ts';
import { parseBlockDevices } from '../facts/block-devices.ts';
import { parseCpu } from '../facts/cpu.ts';
import { Output } from '../output.ts';
import { containerRead } from './container.ts';

test.each([
  '{"blockdevices":5}',
  '{"blockdevices":[null,5,"x",{"path":7,"size":{},"children":5}]}',
  'null',
  '[]',
])('lsblk output of %s yields no device', (text) => expect(parseBlockDevices(text)).toEqual([]));

test('endlessly nested devices are read to a fixed depth', () => {
  const depth = 100_000;
  const text = `{"blockdevices":${'[{"path":"/dev/x","size":1,"children":'.repeat(depth)}[]${'}]'.repeat(depth)}}`;
  expect(parseBlockDevices(text)).toHaveLength(1);
});

test('fields of the wrong type in an engine document count as missing', () => {
  const document = {
    Id: 'f00d',
    Name: '/state-db',
    State: { Status: 5, ExitCode: 'x', Health: [] },
    Config: { Labels: 'x' },
  };
  const lines = `${JSON.stringify(document)}\n{"Name":5}\nnull\n5\n`;
  const answers = containerRead.answers(new Output(0, Buffer.from(lines), ''), ['state-db']);
  expect(answers.get('state-db')).toMatchObject({
    status: '',
    exitCode: 0,
    health: undefined,
    labels: {},
    running: false,
  });
});

test('a processor description of a very long line of spaces is read quickly', async () => {
  expect(await cpuSeconds(() => expect(parseCpu(' '.repeat(200_000)).count).toBe(0))).toBeLessThan(2);
});
