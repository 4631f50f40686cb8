import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Reader } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { logState, readLog } from './log.ts';

const started = Date.parse('2026-01-01T12:00:00Z') / 1000;
const json = (level: string, msg: string) =>
  JSON.stringify({ level, ts: 1.5, msg, pid: 1, version: 'v3.1.0' });
const at = (second: number, text: string) =>
  `2026-01-01T12:00:${String(second).padStart(2, '0')}.123456789Z ${text}`;

/** The lines that are read of a log, by grep as on a host. */
async function grepped(lines: readonly string[]): Promise<string[]> {
  const $ = () => async (_: TemplateStringsArray, __: string, ___: string, pattern: string) => {
    const { stdout } = spawnSync('grep', ['-E', pattern], { input: lines.join('\n') });
    return new Output(0, stdout, '');
  };
  return readLog({ $ } as unknown as Reader, 'sync');
}

test.each<[string, string[], string | undefined]>([
  ['nothing', [], undefined],
  ['errors that pass', [json('error', 'error syncing trusted state: timeout')], undefined],
  ['in one line', [json('error', 'halting the synchronizer: it diverged')], 'it diverged'],
  ['in one line, another version', [json('error', 'halting sync: fatal error: it diverged')], 'it diverged'],
  [
    'in two lines',
    [
      json('error', 'fatal error: it diverged\n/src/sync.go:12 halt()'),
      json('error', 'halting the Synchronizer'),
    ],
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
  [
    'in the real node, with its callers',
    [
      json(
        'error',
        'halting sync: fatal error: it diverged%!(EXTRA string=\n/src/log/log.go:142 github.com/x/log.Errorf()\n)',
      ),
      json('error', 'halting the Synchronizer'),
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
  expect(logState([line], started + 11)).toEqual({
    halted: undefined,
    lastError: undefined,
    ended: undefined,
  });
});

test('the last error is kept, without its surroundings', () => {
  const lines = [at(1, json('error', 'one')), at(2, json('error', 'two\n/src/x.go:1'))];
  expect(logState(lines, started).lastError).toBe('two');
});

/**
 * What the real node logs while its trusted sequencer is away: failures of others are warnings.
 */
const away =
  'error syncing trusted state. Error: Post "http://192.0.2.9:8545": dial tcp 192.0.2.9:8545: connect: connection refused';
const noContract = 'no contract code at given address';
const stack =
  '\n/src/log/log.go:142 github.com/x/log.appendStackTraceMaybeArgs()\n/src/cmd/run.go:119 main.start()\n';

test('why the node ended is read from before this start, without its stack', () => {
  const lines = [at(1, json('fatal', noContract + stack)), at(9, json('warn', away))];
  expect(logState(lines, started + 5)).toEqual({ halted: undefined, lastError: away, ended: noContract });
  const columns =
    '2026-01-01T12:00:01.000Z\t\u001b[35mFATAL\u001b[0m\tcmd/run.go:119\tno contract code at given address';
  expect(logState([at(1, columns)], started)).toMatchObject({ ended: noContract });
});

test('a panic of Go is why the node ended', () => {
  // As Go 1.26 prints it.
  const panic = 'panic: runtime error: invalid memory address or nil pointer dereference';
  const lines = [
    at(1, panic),
    at(1, '[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x48940a]'),
  ];
  expect(logState(lines, started + 5).ended).toBe(panic);
  expect(logState([at(1, 'fatal error: concurrent map writes')], started).ended).toBe(
    'fatal error: concurrent map writes',
  );
  expect(logState([at(1, json('error', 'fatal error: it diverged'))], started).ended).toBeUndefined();
});

test.each([
  // As PostgreSQL 15 prints it where the machine has too little memory.
  [
    '2026-01-01 12:00:01.000 UTC [1] FATAL:  could not map anonymous shared memory: Cannot allocate memory',
    'could not map anonymous shared memory: Cannot allocate memory',
  ],
  [
    '2026-01-01 12:00:01.000 UTC [29] PANIC:  could not locate a valid checkpoint record',
    'could not locate a valid checkpoint record',
  ],
  ['2026-01-01 12:00:01.000 UTC [77] FATAL:  the database system is starting up', undefined],
  ['exec /app/zkevm-node: exec format error', 'exec /app/zkevm-node: exec format error'],
  [
    "/app/zkevm-node: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /app/zkevm-node)",
    "/app/zkevm-node: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /app/zkevm-node)",
  ],
  [json('info', "exec format error, GLIBC_2.34' not found"), undefined],
])('what ended a program is found in its log: %s', async (line, words) => {
  const lines = await grepped([at(1, line)]);
  expect(logState(lines, started).ended).toBe(words);
});

test.each([
  // As Go prints errors that were given to %w outside of fmt.Errorf.
  [
    'error getting header: %!w(*url.Error=&{Post http://127.0.0.1:1/k3y 0x2789b767c0f0})',
    'error getting header: Post http://127.0.0.1:1',
  ],
  [
    'error %!w(*fmt.wrapError=&{a: Post "http://127.0.0.1:1/k3y": dial tcp 127.0.0.1:1: connect: connection refused 0x2789b7625b30}), batch 3',
    'error a: Post "http://127.0.0.1:1": dial tcp 127.0.0.1:1: connect: connection refused, batch 3',
  ],
  ['error dialing wss://127.0.0.1:1/k3y: bad handshake', 'error dialing wss://127.0.0.1:1: bad handshake'],
])('%s is read as its words, without the key of a provider', (logged, words) => {
  expect(logState([at(1, json('error', logged))], started).lastError).toBe(words);
});

test('the lines of a log that matter are found by their level, warnings by the word error', async () => {
  const lines = [
    json('info', 'syncTrustedState: Getting trusted state info, no error'),
    json('warn', 'proverID changed'),
    json('warn', away),
    '2026-01-01T12:00:01.000Z\t\u001b[33mWARN\u001b[0m\tsynchronizer/synchronizer.go:99\terror syncing trusted state. Error: EOF',
    '2026-01-01T12:00:01.000Z\tWARN\tsynchronizer/synchronizer.go:99\tnothing to do',
    '2026-01-01T12:00:01.000Z\tERROR\tsynchronizer/synchronizer.go:99\tit failed',
    json('fatal', noContract + stack),
    '2026-01-01T12:00:01.000000001Z panic: runtime error: index out of range [3] with length 3',
    '2026-01-01T12:00:01.000000001Z goroutine 1 [running]:',
  ];
  const found = await grepped(lines);
  expect(found).toEqual([2, 3, 5, 6, 7].map((index) => lines[index]));
});
