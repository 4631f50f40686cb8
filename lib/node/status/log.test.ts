import { expect, test } from 'vitest';
import { logState } from './log.ts';

const started = Date.parse('2026-01-01T12:00:00Z') / 1000;
const json = (level: string, msg: string) => JSON.stringify({ level, ts: 1.5, msg, pid: 1, version: 'v3.1.0' });
const at = (second: number, text: string) => `2026-01-01T12:00:${String(second).padStart(2, '0')}.123456789Z ${text}`;

test.each<[string, string[], string | undefined]>([
  ['nothing', [], undefined],
  ['errors that pass', [json('error', 'error syncing trusted state: timeout')], undefined],
  ['in one line', [json('error', 'halting the synchronizer: it diverged')], 'it diverged'],
  ['in one line, another version', [json('error', 'halting sync: fatal error: it diverged')], 'it diverged'],
  [
    'in two lines',
    [json('error', 'fatal error: it diverged\n/src/sync.go:12 halt()'), json('error', 'halting the Synchronizer')],
    'it diverged',
  ],
  [
    'in columns',
    [
      '2026-01-01T12:00:01.000Z\tERROR\tsynchronizer/synchronizer.go:99\tfatal error: it diverged\t{"pid": 1}',
      '2026-01-01T12:00:01.000Z\tERROR\tsynchronizer/synchronizer.go:100\thalting the Synchronizer\t{"pid": 1}',
    ],
    'it diverged',
  ],
  ['with no reason', [json('error', 'halting the Synchronizer')], 'halting the Synchronizer'],
  [
    'for a moment',
    [
      json('error', 'halting sync (no blocking): fatal error: x'),
      json('error', 'halting the Synchronizer just for 5s'),
    ],
    undefined,
  ],
])('a halt is read from the log: %s', (_, lines, halted) => {
  expect(
    logState(
      lines.map((line, index) => at(index, line)),
      started,
    ).halted,
  ).toBe(halted);
});

test('lines from before the container started are ignored', () => {
  const line = at(10, json('error', 'halting the synchronizer: it diverged'));
  expect(logState([line], started + 10)).toMatchObject({ halted: 'it diverged' });
  expect(logState([line], started + 11)).toEqual({ halted: undefined, lastError: undefined });
});

test('the last error is kept, without its surroundings', () => {
  const lines = [at(1, json('error', 'one')), at(2, json('error', 'two\n/src/x.go:1'))];
  expect(logState(lines, started).lastError).toBe('two');
});
