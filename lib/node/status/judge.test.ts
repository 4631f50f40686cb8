import { expect, test } from 'vitest';
import { type Expected, type Finding, judge, syncStatus } from './judge.ts';
import type { HostState, ServiceState } from './read.ts';

const now = 1_700_000_000;
const limits = { staleAfter: 300, mostBehind: 20 };
const images = { node: 'registry/node:v3.1.0', prover: 'registry/prover:v6.0.2', database: 'postgres:15' };
const service = (image: string) => ({ image, configHash: 'as-rendered' });

const rpcExpected: Expected = {
  services: {
    'state-db': undefined,
    'pool-db': service(images.database),
    prover: service(images.prover),
    sync: undefined,
    'json-rpc': service(images.node),
  },
  diskWarnPercent: 85,
};

const databaseExpected: Expected = {
  ...rpcExpected,
  services: {
    ...rpcExpected.services,
    'state-db': service(images.database),
    sync: service(images.node),
    'json-rpc': undefined,
  },
};

function container(image: string, changes: Partial<ServiceState> = {}): ServiceState {
  return {
    image,
    imageId: 'sha256:1',
    status: 'running',
    health: undefined,
    exitCode: 0,
    restarts: 0,
    since: now - 3600,
    made: now - 3600,
    configHash: 'as-rendered',
    ...changes,
  };
}

const hash = (number: number) => `0x${number.toString(16).padStart(64, '0')}`;
const forked = `0x${'f'.repeat(64)}`;

interface ChainCase {
  readonly own?: number;
  readonly trusted?: number;
  /** Time of this many seconds ago. */
  readonly ownMade?: number;
  readonly written?: number;
  readonly trustedMade?: number;
  readonly missing?: number;
  readonly there?: string;
}

/** A host at one block, and the trusted sequencer at another. */
function chain(from: HostState['chain']['from'], given: ChainCase = {}): HostState['chain'] {
  const { own = 4252, trusted = 4252, ownMade = 2, written = 1, trustedMade = 1, missing, there } = given;
  const height = Math.min(own, trusted);
  return {
    from,
    by: from === 'state-db' ? 'sync' : 'json-rpc',
    own: {
      ok: true,
      value: {
        block: own,
        hash: hash(own),
        made: now - ownMade,
        batch: 426,
        written: from === 'state-db' ? now - written : undefined,
      },
    },
    trusted: {
      ok: true,
      value: { block: trusted, hash: hash(trusted), made: now - trustedMade, batch: 426 },
    },
    comparison: {
      ok: true,
      value: {
        height,
        same: there === undefined,
        here: hash(height),
        there: there ?? hash(height),
        missingSince: missing === undefined ? undefined : now - missing,
      },
    },
  };
}

const clock = { offController: 0, offServer: 0.0001, server: '172.30.77.10', fault: undefined };
const disk = { mount: '/', size: 1000, used: 400, available: 600, usedPercent: 40 };

function rpc(changes: Partial<HostState> = {}): HostState {
  return {
    at: now,
    docker: 'active',
    containers: {
      'state-db': undefined,
      'pool-db': container(images.database),
      prover: container(images.prover),
      sync: undefined,
      'json-rpc': container(images.node),
    },
    otherCollations: [],
    otherSynchronizer: undefined,
    chain: chain('json-rpc'),
    log: undefined,
    disks: [disk],
    missing: [],
    clock,
    ...changes,
  };
}

function database(changes: Partial<HostState> = {}): HostState {
  return rpc({
    containers: {
      'state-db': container(images.database),
      'pool-db': container(images.database),
      prover: container(images.prover),
      sync: container(images.node),
      'json-rpc': undefined,
    },
    chain: chain('state-db'),
    log: { halted: undefined, lastError: undefined, ended: undefined },
    ...changes,
  });
}

const jsonRpcIs = (changes: Partial<ServiceState>): HostState['containers'] => ({
  ...rpc().containers,
  'json-rpc': container(images.node, changes),
});
const refused = { ok: false, error: 'http://localhost:8123 does not answer: refused' } as const;
const silent = { ok: false, error: 'http://172.30.77.10:8545 does not answer: refused' } as const;

const noCall = {
  ok: false,
  error:
    'eth_call, which the prover executes: http://localhost:8123 answers an error: -32000 failed to execute the unsigned transaction',
} as const;

const recovered = { restarts: 4, since: now - 4 };

test.each<[string, HostState, Expected, boolean]>([
  ['json-rpc that serves', rpc({ containers: jsonRpcIs(recovered) }), rpcExpected, false],
  [
    'json-rpc that does not serve',
    rpc({
      containers: jsonRpcIs(recovered),
      chain: { ...chain('json-rpc'), own: refused, comparison: undefined },
    }),
    rpcExpected,
    true,
  ],
  [
    'sync that has written a block',
    database({ containers: { ...database().containers, sync: container(images.node, recovered) } }),
    databaseExpected,
    false,
  ],
  [
    'sync whose newest block is from before',
    database({
      containers: { ...database().containers, sync: container(images.node, recovered) },
      chain: chain('state-db', { written: 9 }),
    }),
    databaseExpected,
    true,
  ],
  [
    'a state database that answers',
    database({ containers: { ...database().containers, 'state-db': container(images.database, recovered) } }),
    databaseExpected,
    false,
  ],
])('what has recovered is no fault as soon as it works: %s', (_, state, expected, isFault) => {
  const found = judge(state, expected, limits).filter(({ is }) => is.startsWith('restart'));
  expect(found).toMatchObject([{ is: isFault ? 'restarting' : 'restarted', fault: isFault }]);
});

test('a synchronized host is healthy, without findings', () => {
  expect(judge(rpc(), rpcExpected, limits)).toEqual([]);
  expect(judge(database(), databaseExpected, limits)).toEqual([]);
});

test.each<[string, Partial<HostState>, Partial<Finding>[]]>([
  ['a few blocks behind', { chain: chain('json-rpc', { own: 4240, missing: 24 }) }, []],
  [
    'many blocks behind',
    { chain: chain('json-rpc', { own: 4120, missing: 264 }) },
    [
      {
        is: 'behind',
        about: 'json-rpc',
        behind: 132,
        block: 4120,
        of: 4252,
        stillFor: undefined,
        says: 'json-rpc: 132 blocks behind (block 4,120 of 4,252)',
      },
    ],
  ],
  [
    'many blocks behind, and still',
    { chain: chain('json-rpc', { own: 4000, missing: 504 }) },
    [{ is: 'behind', behind: 252, stillFor: 504 }],
  ],
  [
    'one block behind, for long',
    { chain: chain('json-rpc', { own: 4251, missing: 301 }) },
    [
      {
        is: 'stale',
        about: 'json-rpc',
        block: 4251,
        stillFor: 301,
        says: 'json-rpc: no new block for 5 min 01 s (the newest is 4,251)',
      },
    ],
  ],
  [
    'diverged, however far behind',
    { chain: chain('json-rpc', { own: 4120, missing: 900, there: forked }) },
    [
      {
        is: 'diverged',
        about: 'json-rpc',
        height: 4120,
        here: hash(4120),
        there: forked,
        says: 'json-rpc: diverged from the trusted sequencer: block 4,120 is 0x00000000… here and 0xffffffff… there',
      },
    ],
  ],
  [
    'sequencer unreachable from the host, new blocks',
    { chain: { ...chain('json-rpc'), trusted: silent, comparison: undefined } },
    [{ is: 'no-answer', about: 'trusted sequencer', error: silent.error }],
  ],
  [
    'sequencer unreachable from the host, old blocks',
    { chain: { ...chain('json-rpc', { ownMade: 400 }), trusted: silent, comparison: undefined } },
    [
      { is: 'no-answer', about: 'trusted sequencer' },
      { is: 'stale', about: 'json-rpc', stillFor: 400 },
    ],
  ],
  [
    'the prover hangs',
    { executes: noCall },
    [
      {
        is: 'no-execution',
        about: 'json-rpc',
        says: `json-rpc: answers blocks, and executes no calls: ${noCall.error}`,
      },
    ],
  ],
  [
    'the prover is stopped, which is named alone',
    {
      executes: noCall,
      containers: { ...rpc().containers, prover: container(images.prover, { status: 'exited' }) },
    },
    [{ is: 'stopped', about: 'prover' }],
  ],
  [
    'json-rpc answers neither blocks nor calls',
    { executes: noCall, chain: { ...chain('json-rpc'), own: refused, comparison: undefined } },
    [{ is: 'no-answer', about: 'json-rpc' }],
  ],
  [
    'json-rpc does not answer',
    { chain: { ...chain('json-rpc'), own: refused, comparison: undefined } },
    [{ is: 'no-answer', about: 'json-rpc', error: refused.error, says: `json-rpc: ${refused.error}` }],
  ],
  [
    'json-rpc is stopped: reported once',
    {
      containers: jsonRpcIs({ status: 'exited', since: now - 90 }),
      chain: { ...chain('json-rpc'), own: refused, comparison: undefined },
    },
    [
      {
        is: 'stopped',
        about: 'json-rpc',
        status: 'exited',
        exitCode: 0,
        forSeconds: 90,
        says: 'json-rpc: exited with 0, 90 s ago',
      },
    ],
  ],
  [
    'json-rpc is missing',
    {
      containers: { ...rpc().containers, 'json-rpc': undefined },
      chain: { ...chain('json-rpc'), own: refused, comparison: undefined },
    },
    [
      {
        is: 'missing',
        about: 'json-rpc',
        says: 'json-rpc: there is no such container, and this host should run it',
      },
    ],
  ],
  [
    'a container is restarting',
    { containers: jsonRpcIs({ status: 'restarting', restarts: 2, exitCode: 1 }) },
    [
      {
        is: 'restarting',
        says: 'json-rpc: keeps restarting (2 times so far, the last time with exit code 1)',
      },
    ],
  ],
  [
    'a container is restarting, and its log says why',
    {
      containers: jsonRpcIs({ status: 'restarting', restarts: 4, exitCode: 1 }),
      log: { halted: undefined, lastError: undefined, ended: 'no contract code at given address' },
    },
    [
      {
        is: 'restarting',
        says: 'json-rpc: keeps restarting (4 times so far, the last time with exit code 1): no contract code at given address (layer 1 has no contract at an address of the genesis file: one of the two is of another network)',
        words: 'no contract code at given address',
      },
    ],
  ],
  [
    'the prover is restarting on a processor that it does not run on',
    {
      containers: {
        ...rpc().containers,
        prover: container(images.prover, { status: 'restarting', restarts: 7, exitCode: 132 }),
      },
    },
    [
      {
        is: 'restarting',
        about: 'prover',
        says: 'prover: keeps restarting (7 times so far, the last time with exit code 132 (illegal instruction: the processor lacks what the program was built for, such as avx2, bmi2 or adx))',
      },
    ],
  ],
  [
    'a database is restarting, and its own log says why',
    {
      containers: {
        ...rpc().containers,
        'pool-db': container(images.database, { status: 'restarting', restarts: 7, exitCode: 1 }),
      },
      ended: { 'pool-db': 'could not write lock file "postmaster.pid": No space left on device' },
    },
    [
      {
        is: 'restarting',
        about: 'pool-db',
        says: 'pool-db: keeps restarting (7 times so far, the last time with exit code 1): could not write lock file "postmaster.pid": No space left on device (a disk is full)',
      },
    ],
  ],
  [
    'a container runs, maybe between two starts of a loop',
    {
      containers: { ...rpc().containers, prover: container(images.prover, { restarts: 4, since: now - 4 }) },
    },
    [
      {
        is: 'restarting',
        about: 'prover',
        restarts: 4,
        says: 'prover: was restarted 4 times, the last time 4.0 s ago, and may end again within a minute',
      },
    ],
  ],
  [
    'json-rpc ends again and again, although it serves in between',
    { containers: jsonRpcIs({ restarts: 12, since: now - 4, made: now - 400 }) },
    [
      {
        is: 'restarting',
        restarts: 12,
        says: 'json-rpc: does not stay up: restarted 12 times in 6 min 40 s, the last time 4.0 s ago',
      },
    ],
  ],
  [
    'a container ends every four minutes, and runs in between',
    { containers: jsonRpcIs({ restarts: 240, since: now - 200, made: now - 240 * 240 }) },
    [
      {
        is: 'restarting',
        restarts: 240,
        says: 'json-rpc: does not stay up: restarted 240 times in 16 h 00 min, the last time 3 min 20 s ago',
      },
    ],
  ],
  [
    'one of which the last words are known',
    {
      containers: jsonRpcIs({ restarts: 12, since: now - 4, made: now - 400 }),
      log: { halted: undefined, lastError: undefined, ended: 'no space left on device' },
    },
    [
      {
        is: 'restarting',
        says: 'json-rpc: does not stay up: restarted 12 times in 6 min 40 s, the last time 4.0 s ago; it ended with: no space left on device (a disk is full)',
      },
    ],
  ],
  [
    'a container was killed for its memory',
    { containers: jsonRpcIs({ status: 'exited', exitCode: 137, since: now - 60 }) },
    [
      {
        is: 'stopped',
        says: expect.stringContaining('exited with 137 (killed, most often because memory ran out)'),
      },
    ],
  ],
  [
    'a health check says no',
    { containers: jsonRpcIs({ health: 'unhealthy' }) },
    [{ is: 'unhealthy', says: 'json-rpc: runs, and its own health check says unhealthy' }],
  ],
  [
    'a state database where none belongs',
    { containers: { ...rpc().containers, 'state-db': container(images.database) } },
    [{ is: 'out-of-place', about: 'state-db', says: 'state-db: runs here, and should not' }],
  ],
  [
    'a synchronizer where none belongs',
    { otherSynchronizer: 'the container old-sync is restarting' },
    [
      {
        is: 'out-of-place',
        about: 'sync',
        says: 'sync: no other synchronizer may run here: the container old-sync is restarting; two on one database corrupt it',
      },
    ],
  ],
  [
    'a wrong image version',
    { containers: jsonRpcIs({ image: 'registry/node:v1.2.3', configHash: 'another' }) },
    [
      {
        is: 'wrong-image',
        about: 'json-rpc',
        running: 'registry/node:v1.2.3',
        wanted: images.node,
        says: `json-rpc: runs registry/node:v1.2.3, and the inventory says ${images.node}`,
      },
    ],
  ],
  [
    'the engine is down: reported once',
    { docker: 'inactive', chain: { ...chain('json-rpc'), own: refused, comparison: undefined } },
    [
      {
        is: 'docker-down',
        about: 'docker',
        state: 'inactive',
        says: 'docker: the engine does not run (inactive)',
      },
    ],
  ],
  [
    'the engine hangs: reported once',
    { docker: 'no answer', chain: { ...chain('json-rpc'), own: refused, comparison: undefined } },
    [
      {
        is: 'docker-down',
        about: 'docker',
        state: 'no answer',
        says: 'docker: the engine runs and does not answer: see journalctl --unit docker.service',
      },
    ],
  ],
  [
    'data that is not on its disk',
    { missing: [{ cause: 'the disk that held /data/pool-db is not mounted', hint: 'mount it' }] },
    [
      {
        is: 'missing-data',
        about: 'disk',
        hint: 'mount it',
        says: 'disk: the disk that held /data/pool-db is not mounted',
      },
    ],
  ],
  [
    'a disk at the threshold',
    {
      disks: [
        { ...disk, usedPercent: 84 },
        { ...disk, mount: '/data', usedPercent: 85 },
      ],
    },
    [
      {
        is: 'full',
        about: 'disk',
        mount: '/data',
        usedPercent: 85,
        warnPercent: 85,
        says: 'disk: /data is 85% full (alert from 85%)',
      },
    ],
  ],
  [
    'a disk alert that its webhook refuses',
    { diskAlertFault: 'the message on /data could not be posted; it is tried again next time' },
    [
      {
        is: 'disk-alert-failed',
        about: 'disk alert',
        words: 'the message on /data could not be posted; it is tried again next time',
        says: 'disk alert: its last check of the disks failed: the message on /data could not be posted; it is tried again next time (journalctl -u rpc-node-disk-alert)',
      },
    ],
  ],
  [
    'a clock that is off',
    { clock: { ...clock, fault: 'the clock is 3.2 s off 172.30.77.10' } },
    [{ is: 'not-synchronised', about: 'clock', says: 'clock: the clock is 3.2 s off 172.30.77.10' }],
  ],
])('healthy or unhealthy, an RPC server: %s', (_, changes, expected) => {
  const findings = judge(rpc(changes), rpcExpected, limits);
  expect(findings).toMatchObject(expected.map((finding) => ({ fault: true, ...finding })));
  expect(findings).toHaveLength(expected.length);
});

const halted = 'the state database and the trusted sequencer have diverged: block 4101';

test.each<[string, Partial<HostState>, Partial<Finding>[]]>([
  [
    'sync halted, while its container runs',
    { log: { halted, lastError: undefined, ended: undefined } },
    [{ is: 'halted', about: 'sync', words: halted, says: `sync: halted: ${halted}` }],
  ],
  [
    'catching up: behind, but blocks are written',
    { chain: chain('state-db', { own: 4000, written: 1, ownMade: 90_000, missing: 89_998 }) },
    [{ is: 'behind', about: 'sync', behind: 252, stillFor: undefined }],
  ],
  [
    'stale: the next block is there for long, and none was written',
    {
      chain: chain('state-db', { own: 4250, written: 400, missing: 398 }),
      log: { halted: undefined, lastError: 'no', ended: undefined },
    },
    [{ is: 'stale', about: 'sync', block: 4250, stillFor: 398, words: 'no' }],
  ],
  [
    'many blocks behind, and none was written',
    {
      chain: chain('state-db', { own: 4120, written: 420, missing: 430 }),
      log: { halted: undefined, lastError: 'executor: refused', ended: undefined },
    },
    [
      {
        is: 'behind',
        says: 'sync: 132 blocks behind (block 4,120 of 4,252), and no new one for 7 min 00 s; its last error: executor: refused',
      },
    ],
  ],
  [
    'a slow chain: the newest was written long ago, and the next has just been made',
    { chain: chain('state-db', { own: 4251, written: 1200, ownMade: 1200, missing: 1 }) },
    [],
  ],
  [
    'the sequencer does not answer: what counts is when a block was written',
    {
      chain: {
        ...chain('state-db', { ownMade: 90_000, written: 10 }),
        trusted: silent,
        comparison: undefined,
      },
    },
    [{ is: 'no-answer', about: 'trusted sequencer' }],
  ],
  [
    'the state database does not answer',
    { chain: { ...chain('state-db'), own: { ok: false, error: 'no such table' }, comparison: undefined } },
    [{ is: 'no-answer', about: 'state-db', error: 'no such table' }],
  ],
])('healthy or unhealthy, the Database+Sync server: %s', (_, changes, expected) => {
  const findings = judge(database(changes), databaseExpected, limits);
  expect(findings).toMatchObject(expected.map((finding) => ({ fault: true, ...finding })));
  expect(findings).toHaveLength(expected.length);
});

test.each<[string, Partial<HostState>, Partial<Finding>]>([
  [
    'the trusted sequencer itself makes no blocks',
    { chain: chain('json-rpc', { ownMade: 720, trustedMade: 720 }) },
    {
      is: 'still',
      about: 'trusted sequencer',
      block: 4252,
      stillFor: 720,
      says: 'trusted sequencer: it has itself made no block for 12 min 00 s (the newest is 4,252)',
    },
  ],
  [
    'restarted once',
    { containers: jsonRpcIs({ restarts: 1, since: now - 5 }) },
    { is: 'restarted', restarts: 1, says: 'json-rpc: was restarted once by Docker, and has run for 5.0 s' },
  ],
  [
    'restarted often while it was set up, and up for more than an hour since',
    { containers: jsonRpcIs({ restarts: 8, since: now - 3700, made: now - 4000 }) },
    { is: 'restarted', says: 'json-rpc: was restarted 8 times by Docker, and has run for 61 min 40 s' },
  ],
  [
    'a database that sorts text by other rules than its indexes',
    { otherCollations: ['prover was made with version 2.31 of the sorting rules, and the image has 2.36'] },
    {
      is: 'other-collation',
      about: 'state-db',
      says: 'state-db: prover was made with version 2.31 of the sorting rules, and the image has 2.36: indexes on text may miss rows',
    },
  ],
  [
    'a rotation of passwords that was not ended',
    { secondLogins: ['rpc_node_pool_next'] },
    {
      is: 'rotation',
      about: 'passwords',
      says: 'passwords: a rotation of passwords is half done, rpc_node_pool_next may log in: deploy ends it, and after rotate --done the next rotation',
    },
  ],
  [
    'another configuration',
    { containers: jsonRpcIs({ configHash: 'older' }) },
    {
      is: 'other-configuration',
      says: "json-rpc: runs with a configuration that is not the inventory's: deploy.mjs --check shows what differs",
    },
  ],
  [
    'the controller has another time',
    { clock: { ...clock, offController: -7 } },
    {
      is: 'off-controller',
      seconds: -7,
      says: "clock: 7.0 s behind this machine's; one of the two is wrong",
    },
  ],
  [
    'more blocks than the sequencer',
    { chain: chain('json-rpc', { own: 4300 }) },
    { is: 'ahead', ahead: 48, says: 'json-rpc: 48 blocks ahead of the trusted sequencer' },
  ],
  [
    'hashes could not be compared',
    { chain: { ...chain('json-rpc'), comparison: { ok: false, error: 'no block 4252' } } },
    {
      is: 'not-compared',
      error: 'no block 4252',
      says: 'json-rpc: block hashes could not be compared with the trusted sequencer: no block 4252',
    },
  ],
])('a note, not a fault of the host: %s', (_, changes, expected) => {
  expect(judge(rpc(changes), rpcExpected, limits)).toMatchObject([{ fault: false, ...expected }]);
});

test('faults are first', () => {
  const seen = rpc({ containers: jsonRpcIs({ configHash: 'older' }), disks: [{ ...disk, usedPercent: 99 }] });
  expect(judge(seen, rpcExpected, limits).map(({ fault }) => fault)).toEqual([true, false]);
});

test.each<[ChainCase, string, number]>([
  [{}, 'caught-up', 0],
  [{ own: 4232 }, 'caught-up', 20],
  [{ own: 4231 }, 'behind', 21],
  [{ own: 4255 }, 'caught-up', -3],
  [{ own: 4231, there: forked }, 'diverged', 21],
])('%j is %s, %i behind', (given, standing, behind) => {
  expect(syncStatus(chain('json-rpc', given), limits)).toEqual({ standing, behind });
});
