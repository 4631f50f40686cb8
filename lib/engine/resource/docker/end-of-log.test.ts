import { expect, test } from 'vitest';
import { endOfLog } from './end-of-log.ts';

/** As the node writes it, with its callers. */
const node = (level: string, msg: string) =>
  JSON.stringify({ level, ts: 1763973362.1, caller: 'cmd/run.go:118', msg, pid: 1, version: 'v3.1.0' });
const callers =
  '\n/src/log/log.go:142 github.com/x/log.appendStackTraceMaybeArgs()\n/src/cmd/run.go:119 main.start()\n';
/** As the prover writes it: the text is not escaped. */
const prover = (level: string, msg: string) =>
  `{"level":"${level}","ts":"1763973362.128863","msg":"${msg}","pid":"1","tid":"40df080","version":"v6.0.2"}`;

test('a fatal line of the node is found behind warnings, with the database that it was working on', () => {
  const metrics = Array.from({ length: 40 }, (_, at) => node('warn', `Gauge metric already exists. ${at}`));
  const log = [
    node('info', 'running migrations for state, host: state-db:5432 db:state_db user:state_user'),
    node('info', 'successfully ran 8 migrations for state'),
    node('info', 'running migrations for pool, host: pool-db:5432 db:pool_db user:pool_user'),
    ...metrics,
    node(
      'fatal',
      `Unable to create migration plan because of supernets-0001.sql: unknown migration in database${callers}`,
    ),
    ...metrics,
  ];
  expect(endOfLog(log.join('\n'))).toBe(
    'running migrations for pool, host: pool-db:5432 db:pool_db user:pool_user\nUnable to create migration plan because of supernets-0001.sql: unknown migration in database',
  );
});

test('of several ends the newest one counts', () => {
  expect(endOfLog([node('fatal', 'first'), node('info', 'again'), node('fatal', 'second')].join('\n'))).toBe(
    'again\nsecond',
  );
});

test("the prover's error is found before what it writes at its end", () => {
  const log = [
    prover('info', 'DB_INIT_REMOTE starting...'),
    prover(
      'error',
      'Database::initRemote() exception: could not translate host name "state-db" to address: System error',
    ),
    prover('info', 'CALL STACK'),
    ...Array.from({ length: 20 }, (_, at) => prover('info', `${at}: call=zkProver(+0x2d2b4c) [0x55d0c2b2bb4c]`)),
    prover('error', 'Failed to get memory info'),
    prover('info', 'MEMORY INFO \n    MemTotal: 0.000000 MB\n    MemFree: 0.000000 MB'),
    prover('error', 'printProcessInfo() failed to get process stat info'),
  ];
  expect(endOfLog(log.join('\n'))).toBe(
    'Database::initRemote() exception: could not translate host name "state-db" to address: System error\nFailed to get memory info\nprintProcessInfo() failed to get process stat info',
  );
  // Libpq ends its texts with a line break.
  expect(
    endOfLog('{"level":"error","ts":"1","msg":"Database::initRemote() exception: FATAL: sorry\n","pid":"1"}'),
  ).toBe('Database::initRemote() exception: FATAL: sorry');
});

test.each([
  [
    'columns',
    '2026-01-01T12:00:01.000Z\t\u001b[35mFATAL\u001b[0m\tcmd/run.go:119\tno contract code\t{"pid": 1}',
    'no contract code',
  ],
  [
    'a panic',
    `${node('info', 'listening')}\npanic: runtime error: index out of range\n\ngoroutine 1 [running]:`,
    'listening\npanic: runtime error: index out of range',
  ],
  ['the same error many times', Array(30).fill(node('error', 'it failed')).join('\n'), 'it failed'],
  [
    'anything else',
    Array.from({ length: 20 }, (_, at) => at).join('\n'),
    Array.from({ length: 15 }, (_, at) => at + 5).join('\n'),
  ],
])('why a program ended is read from %s', (_, log, reason) => {
  expect(endOfLog(log)).toBe(reason);
});

test.each([
  // As net/http and the websocket client of Go print errors, put into a log as the node does.
  [
    node('fatal', 'error dialing: Post "https://mainnet.example/v3/5ec2e7": dial tcp 192.0.2.1:443: i/o timeout'),
    'error dialing: Post "https://mainnet.example": dial tcp 192.0.2.1:443: i/o timeout',
  ],
  [
    node(
      'error',
      'error: %!w(*url.Error=&{Post https://user:***@mainnet.example/v3/5ec2e7?key=5ec2e7 0x2b295ebba690})',
    ),
    'error: Post https://mainnet.example',
  ],
  ['dial wss://mainnet.example/ws/5ec2e7: bad handshake', 'dial wss://mainnet.example: bad handshake'],
  ['panic: cannot open postgres://user:5ec2e7@db:5432/pool_db', 'panic: cannot open postgres://db:5432'],
])('the reason has no key and no password of an address: %s', (line, reason) => {
  expect(endOfLog(line)).toBe(reason);
});
