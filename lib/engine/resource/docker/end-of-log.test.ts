import { expect, test } from 'vitest';
import { endOfLog } from './end-of-log.ts';

/** As the node writes it, with its callers. */
const node = (level: string, msg: string) =>
  JSON.stringify({ level, ts: 1763973362.1, caller: 'cmd/run.go:118', msg, pid: 1, version: 'v3.1.0' });
/** As the prover writes it: the text is not escaped. */
const prover = (level: string, msg: string) =>
  `{"level":"${level}","ts":"1763973362.128863","msg":"${msg}","pid":"1","tid":"40df080","version":"v6.0.2"}`;

/**
 * Lines of the real node v3.1.0, by its logger zap, from its start to its end: a few of those
 * about metrics stand for 80.
 */
const migrationRefused =
  'Unable to create migration plan because of supernets-0001.sql: unknown migration in database';
const production = [
  '{"level":"info","ts":1795631380.4742181,"caller":"cmd/run.go:502","msg":"Starting application","pid":1,"version":"v3.1.0","gitRevision":"44863ea","os/arch":"linux/amd64"}',
  '{"level":"info","ts":1795631380.4744375,"caller":"cmd/run.go:141","msg":"Chain ID read from POE SC = 4200","pid":1,"version":"v3.1.0"}',
  '{"level":"info","ts":1795631380.4759693,"caller":"cmd/run.go:273","msg":"running migrations for zkevm-pool-db","pid":1,"version":"v3.1.0"}',
  '{"level":"info","ts":1795631380.4759758,"caller":"db/db.go:47","msg":"running migrations up","pid":1,"version":"v3.1.0"}',
  '{"level":"warn","ts":1795631380.4744847,"caller":"metrics/prometheus.go:433","msg":"Gauge metric already exists.","pid":1,"version":"v3.1.0","metricName":"state_x"}',
  '{"level":"info","ts":1795631380.4744848,"caller":"metrics/prometheus.go:475","msg":"Counter metric already exists. state_y","pid":1,"version":"v3.1.0","metricName":"state_y"}',
  `{"level":"fatal","ts":1795631380.4761016,"caller":"cmd/run.go:276","msg":"${migrationRefused}\\n/src/log/log.go:142 github.com/0xPolygonHermez/zkevm-node/log.appendStackTraceMaybeArgs()\\n/src/cmd/run.go:276 main.runMigrations()\\n","pid":1,"version":"v3.1.0","stacktrace":"main.runMigrations\\n\\t/src/cmd/run.go:276\\nruntime.main\\n\\t/usr/local/go/src/runtime/proc.go:290"}`,
];
const development = [
  '2026-11-25T18:29:41.156Z\t\u001b[34mINFO\u001b[0m\tcmd/run.go:141\tChain ID read from POE SC = 4200\t{"pid": 1, "version": "v3.1.0"}',
  '2026-11-25T18:29:41.157Z\t\u001b[34mINFO\u001b[0m\tcmd/run.go:273\trunning migrations for zkevm-pool-db\t{"pid": 1, "version": "v3.1.0"}',
  '2026-11-25T18:29:41.157Z\t\u001b[34mINFO\u001b[0m\tdb/db.go:47\trunning migrations up\t{"pid": 1, "version": "v3.1.0"}',
  '2026-11-25T18:29:41.157Z\t\u001b[33mWARN\u001b[0m\tmetrics/prometheus.go:433\tGauge metric already exists.\t{"pid": 1, "version": "v3.1.0", "metricName": "state_x"}',
  'github.com/0xPolygonHermez/zkevm-node/metrics.registerGaugeIfNotExists',
  '\t/src/metrics/prometheus.go:433',
  `2026-11-25T18:29:41.157Z\t\u001b[31mFATAL\u001b[0m\tcmd/run.go:276\t${migrationRefused}`,
  '/src/log/log.go:142 github.com/0xPolygonHermez/zkevm-node/log.appendStackTraceMaybeArgs()',
  '/src/cmd/run.go:276 main.runMigrations()',
  '\t{"pid": 1, "version": "v3.1.0"}',
  'main.runMigrations',
  '\t/src/cmd/run.go:276',
];

test.each([
  ['production', production],
  ['development', development],
])(
  'a fatal line of the node is found among those about metrics, with the database that it was working on: %s',
  (_, lines) => {
    // Docker starts the container again, so the next start follows.
    const log = [...lines, ...lines.slice(0, -6)].join('\n');
    expect(endOfLog(log)).toBe(
      `running migrations for zkevm-pool-db\nrunning migrations up\n${migrationRefused}`,
    );
  },
);

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
    ...Array.from({ length: 20 }, (_, at) =>
      prover('info', `${at}: call=zkProver(+0x2d2b4c) [0x55d0c2b2bb4c]`),
    ),
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
    node(
      'fatal',
      'error dialing: Post "https://mainnet.example/v3/5ec2e7": dial tcp 192.0.2.1:443: i/o timeout',
    ),
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
