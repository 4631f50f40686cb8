import { expect, test } from 'vitest';
import preflight from '../../../roles/preflight.ts';
import { describeVerdict, drift, isWarning, ok } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf, type Given, refusal, sound } from '../testing/role-context.ts';

test.each<[given: Given, name: string, words: string, hint: string]>([
  [
    { facts: { distribution: { id: 'fedora', version: '40', codename: '', title: 'Fedora Linux 40' } } },
    'distribution is Debian 12 or 13, or Ubuntu 22.04 or 24.04',
    'it is Fedora Linux 40',
    'install one of these on the host',
  ],
  [
    { facts: { architecture: 'aarch64' } },
    'processor is x86_64',
    'it is aarch64',
    'the images of the node and the prover are for x86_64 only',
  ],
  [
    { facts: { systemd: false } },
    'systemd is the first process',
    'it is not',
    'the deployment needs systemd units: use a host that boots with systemd',
  ],
  [
    { facts: { cpu: { ...sound.cpu, flags: ['avx2', 'bmi2'] } } },
    'processor has adx',
    'AMD EPYC has no adx',
    'the prover crashes at its start without it; on a virtual machine, pass through the processor of its host',
  ],
  [
    { facts: { clockOffset: 7200 } },
    'clock is right to the hour',
    "it is 2.0 h ahead of this machine's",
    'set it once, role time-sync then keeps it: ssh 172.30.77.11 sudo date -u -s @$(date +%s)',
  ],
  [
    { changes: [[['vars', 'network', 'region'], 'eu-1']] },
    'Database+Sync server is in region eu-1',
    'it is in lab-1',
    'set its region in the inventory: region',
  ],
  [
    { changes: [[['groups', 'database', 'db-1', 'region'], undefined]] },
    'Database+Sync server is in region lab-1',
    'the inventory does not name its region',
    'set its region in the inventory: region',
  ],
])(
  'what facts and inventory do not meet is reported with what to do: %#',
  async (given, name, words, hint) => {
    const resources = await preflight.resources(await contextOf(given));
    expect(await refusal(resources, name)).toEqual([`${name}: ${words}`, hint]);
  },
);

test('a server that is too small is reported with the requirement and its hardware', async () => {
  const changes: Given['changes'] = [[['vars', 'hardware'], 'required']];
  const resources = await preflight.resources(await contextOf({ changes, facts: { memory: 8e9 } }));
  const memory = resources.find(({ name }) => /^server has .*memory/i.test(name));
  expect(await refusal(resources, memory?.name ?? '')).toEqual([
    expect.stringMatching(/^server has \d+ .*: it has 8/),
    'to deploy nevertheless, set hardware: advisory in the inventory',
  ]);
});

test('a port that another process holds is reported with how to find it', async () => {
  const resources = await preflight.resources(await contextOf({ group: 'rpc' }));
  const nginx = 'LISTEN 0 511 0.0.0.0:8123 0.0.0.0:* users:(("nginx",pid=813,fd=6))\n';
  const host = fakeHost([
    [/docker ps/, ''],
    [/ss -/, nginx],
  ]);
  expect(await refusal(resources, 'port 8123 is free for json-rpc', host)).toEqual([
    'port 8123 is free for json-rpc: port 8123 is held by nginx (process 813)',
    'stop what holds it (ss -lntp "sport = :8123"), or choose another port in the inventory',
  ]);
});

test('addresses outside that do not answer are reported with their variable', async () => {
  const source = { repository: 'git@git.example:node.git', ref: 'v1' };
  const changes: Changes = [
    [['vars', 'snapshot', 'restore_with'], 'source'],
    [['vars', 'snapshot', 'source'], source],
  ];
  const resources = await preflight.resources(await contextOf({ changes }));
  const hints = {
    'trusted sequencer answers':
      /^check network\.trusted_sequencer_url and network\.l2_chain_id in the inventory, and the firewall of this host$/,
    'layer 1 answers':
      /^check network\.l1_rpc_url and network\.chain_id in the inventory: the node ends at its start when layer 1 does not/,
    'genesis file can be downloaded': /^check network\.genesis\.url in the inventory$/,
    'state snapshot can be downloaded':
      /^check snapshot\.state\.url in the inventory, or with a manifest snapshot\.from$/,
    'prover snapshot can be downloaded':
      /^check snapshot\.prover\.url in the inventory, or with a manifest snapshot\.from$/,
    'source repository of the node answers':
      /^check snapshot\.source\.repository .*, or set snapshot\.restore_with: image$/,
  };
  for (const [name, hint] of Object.entries(hints)) {
    expect(await refusal(resources, name)).toEqual([
      expect.stringMatching(`^${name}: .`),
      expect.stringMatching(hint),
    ]);
  }
  const registry = resources.find(({ name }) => /^image registry .* answers$/.test(name));
  expect(await refusal(resources, registry?.name ?? '')).toEqual([
    expect.stringMatching(/^image registry \S+ answers: ./),
    'check images and registry in the inventory',
  ]);
});

test.each([
  ['trusted sequencer answers', 'http://172.30.77.10:8545', 686868],
  ['layer 1 answers', 'http://172.30.77.10:8546', 55555],
])('an address of another chain is refused: %s', async (name, url, id) => {
  const resource = (await preflight.resources(await contextOf({}))).find((each) => each.name === name);
  const answering = (chain: number) =>
    fakeHost([
      [
        new RegExp(`${url} .*eth_chainId`, 's'),
        `HTTP/1.1 200 OK\n\n{"jsonrpc":"2.0","id":1,"result":"0x${chain.toString(16)}"}`,
      ],
      [/newest-logs/, 'HTTP/1.1 200 OK\n\n{"jsonrpc":"2.0","id":1,"result":[]}'],
      [
        /zkevm_(batchNumber|getBatchByNumber)/,
        'HTTP/1.1 200 OK\n\n{"jsonrpc":"2.0","id":1,"result":"0x3e8"}',
      ],
    ]);
  expect(await resource?.check(answering(id))).toEqual(ok);
  expect(await resource?.check(answering(1))).toMatchObject(
    drift(`${url} is of the chain with id 1, and has to be of the one with id ${id}`),
  );
});

const sequencer = 'http://172.30.77.10:8545';
const ofSequencer = `[RPC]\nSequencerNodeURI = "${sequencer}"\n`;

test.each<
  [what: string, group: 'database' | 'rpc', containers: readonly string[], settings: string, warns: boolean]
>([
  ['an RPC server that was deployed', 'rpc', ['json-rpc'], ofSequencer, true],
  ['a Database+Sync server that was deployed', 'database', ['sync'], ofSequencer, true],
  ['a new RPC server', 'rpc', [], ofSequencer, false],
  ['a Database+Sync server that was an RPC server', 'database', ['json-rpc'], ofSequencer, false],
  ['another address than before', 'rpc', ['json-rpc'], ofSequencer.replace('8545', '8550'), false],
])('a sequencer that is away is a warning where its blocks are served already: %s', async (...given) => {
  const [, group, containers, settings, warns] = given;
  const resources = await preflight.resources(await contextOf({ group }));
  const host = fakeHost([], {
    container: async (name) =>
      containers.includes(name) ? { ...runningContainer, running: false } : undefined,
    read: async () => Buffer.from(settings),
  });
  const seen = async (name: string) => {
    const resource = resources.find((each) => each.name === name);
    const verdict = await resource?.check(host);
    return resource && verdict && ([isWarning(resource, verdict), describeVerdict(verdict)] as const);
  };
  const words = `${sequencer} does not answer: not found`;
  const goesOn = '; this server goes on with the blocks that it has';
  expect(await seen('trusted sequencer answers')).toEqual([warns, warns ? words + goesOn : words]);
  expect(await seen('layer 1 answers')).toEqual([false, expect.stringContaining('does not answer')]);
});

test('a genesis file that would be refused is refused before anything is stopped', async () => {
  const resources = await preflight.resources(await contextOf({}));
  const serving = (text: string) => fakeHost([[/genesis\.json/, `HTTP/1.1 200 OK\n\n${text}`]]);
  expect(await refusal(resources, 'genesis file can be downloaded', serving('{}'))).toEqual([
    expect.stringMatching(/genesis file from \S+ is not the one of the inventory: SHA-256 44136fa3/),
    'check network.genesis.url in the inventory, and its sha256',
  ]);
  const path = ['vars', 'network', 'genesis', 'sha256'];
  const sum = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a';
  const others = await preflight.resources(await contextOf({ changes: [[path, sum]] }));
  expect(await refusal(others, 'genesis file can be downloaded', serving('{}'))).toEqual([
    expect.stringMatching(/genesis file from \S+ is refused:\n {2}/),
    expect.stringContaining('has to be for chain id'),
  ]);
});

test('a server that takes over by a switch or a recovery needs no snapshot, and no sequencer at once', async () => {
  const asked = async (given: Readonly<Record<string, string>>) => {
    const context = { ...(await contextOf({})), given };
    const resources = await preflight.resources(context);
    const sequencer = resources.find(({ name }) => name === 'trusted sequencer answers');
    const seen = await sequencer?.check(fakeHost([]));
    return {
      snapshot: resources.some(({ name }) => name.includes('snapshot')),
      database: resources.some(({ name }) => name === '/data/state-db can hold a database'),
      warns: sequencer && seen && isWarning(sequencer, seen),
    };
  };
  expect(await asked({})).toEqual({ snapshot: true, database: true, warns: false });
  expect(await asked({ to: 'db-1' })).toEqual({ snapshot: false, database: true, warns: true });
  expect(await asked({ 'to-time': 'latest' })).toEqual({ snapshot: false, database: false, warns: true });
});

test.each([
  ['docker.io', 'registry-1.docker.io'],
  ['index.docker.io', 'registry-1.docker.io'],
  ['ghcr.io', 'ghcr.io'],
])('registry %s is asked at %s', async (registry, api) => {
  const changes: Changes = [[['vars', 'images', 'node'], `${registry}/owner/name`]];
  const resources = await preflight.resources(await contextOf({ changes }));
  const resource = resources.find(({ name }) => name === `image registry ${registry} answers`);
  const host = fakeHost([
    [new RegExp(` 'https://${api}/v2/'|^[^|]* https://${api}/v2/`), 'HTTP/1.1 401 Unauthorized\n\n'],
  ]);
  expect(await resource?.check(host)).toEqual(ok);
});

test('a registry is asked with the certificates of the engine, and is a warning where that has a proxy', async () => {
  const changes: Changes = [[['vars', 'images', 'node'], 'r.example:5000/node']];
  const resources = await preflight.resources(await contextOf({ changes }));
  const resource = resources.find(({ name }) => name === 'image registry r.example:5000 answers');
  const probe = (answer: Parameters<typeof fakeHost>[0][number][1], proxy: string) =>
    fakeHost([
      [/r\.example:5000\/v2\/.* \/etc\/docker\/certs\.d\/r\.example:5000$/s, answer],
      [/is-active --quiet docker\.service && docker info --format '\{\{\.HTTPSProxy\}\}'$/, `${proxy}\n`],
    ]);
  const away = { exitCode: 7, stderr: 'curl: (7) Failed to connect' };
  const seen = async (host: ReturnType<typeof fakeHost>) => {
    const verdict = await resource?.check(host);
    return resource && verdict && [isWarning(resource, verdict), describeVerdict(verdict)];
  };
  const words = 'https://r.example:5000 does not answer: Failed to connect';
  expect(await seen(probe(away, ''))).toEqual([false, words]);
  expect(await seen(probe(away, 'http://proxy.example:3128'))).toEqual([
    true,
    `${words}; Docker pulls through its proxy, which was not asked`,
  ]);
  expect(await seen(probe('HTTP/1.1 200 OK\n\n', 'http://proxy.example:3128'))).toEqual([false, 'ok']);
});

test('a restore tool that cannot be built is refused beforehand, with the versions and what can be done', async () => {
  const name = 'Go 1.21 or later is available for the restore tool';
  const resources = await preflight.resources(await contextOf({}));
  const host = fakeHost([
    [/^apt-cache .* policy golang-go$/, 'golang-go:\n  Installed: (none)\n  Candidate: 2:1.19~1\n'],
  ]);
  expect(await refusal(resources, name, host)).toEqual([
    `${name}: the package golang-go has Go 1.19, and the restore tool needs 1.21`,
    'install Go 1.21 or later in /usr/local/go (docs/deploy.md), or set snapshot.restore_with: image',
  ]);
});

test.each<[string, Given]>([
  ['an RPC server', { group: 'rpc' }],
  ['the default way to restore', { changes: [[['vars', 'snapshot', 'restore_with'], undefined]] }],
  ['another way to restore', { changes: [[['vars', 'snapshot', 'restore_with'], 'image']] }],
])('%s needs no Go', async (_, given) => {
  const resources = await preflight.resources(await contextOf(given));
  expect(resources.filter(({ name }) => name.startsWith('Go '))).toEqual([]);
});

test.each<[what: string, changes: Changes, found: string | undefined]>([
  ['a test network', [], undefined],
  [
    'the main network',
    [[['vars', 'images', 'node'], `registry/node:v3.1.0@sha256:${'0'.repeat(64)}`]],
    'not pinned: images.prover, images.database',
  ],
])('images without a digest are a warning on the main network alone: %s', async (_, changes, found) => {
  const context = await contextOf({ changes });
  const kind = found === undefined ? ('test' as const) : ('main' as const);
  const vars = { ...context.vars, network: { ...context.vars.network, kind } };
  const all = await preflight.resources({ ...context, vars });
  const resource = all.find(({ name }) => name === 'images are pinned by digest');
  expect(resource?.expects).toBe(found === undefined ? undefined : 'should');
  const verdict = await resource?.check(fakeHost([]));
  expect(verdict && describeVerdict(verdict)).toBe(found);
});

/** What a database holds, by the mark that a restore leaves in it. */
type Holds = 'same' | 'other' | 'unfinished' | 'foreign' | 'empty';

/**
 * A host whose databases hold something, or do not answer. Nothing outside answers, and its Go is
 * too old.
 *
 * @param databases by name: what each holds, and the SHA-256 of the archive that the inventory
 * names for it
 * @param files paths that exist, beside those of every host
 */
function databaseHost(
  databases: Readonly<Record<string, readonly [holds: Holds, sha256: string]>>,
  files: readonly string[],
) {
  const mark = (restore: string, sha256: string) =>
    JSON.stringify({ restore, sha256, snapshot: '2024-05-01', table: 7 });
  const rows = {
    same: (sha256: string) => [mark('complete', sha256), '7', '8192', '8192', '2'],
    other: () => [mark('complete', 'f'.repeat(64)), '7', '8192', '8192', '2'],
    unfinished: (sha256: string) => [mark('started', sha256), '7', '8192', '8192', '1'],
    foreign: () => [null, '7', '8192', '8192', '2'],
    empty: () => [null, '7', '0', '0', '0'],
  };
  const file = { type: 'file', mode: 0o755, owner: 'root', group: 'root', size: 1 };
  return fakeHost([[/^apt-cache .* policy golang-go$/, 'golang-go:\n  Candidate: 2:1.19~1\n']], {
    sql: async ({ database }) => {
      const found = databases[database];
      if (found === undefined) return { ok: false, error: 'no answer' };
      return { ok: true, rows: [rows[found[0]](found[1])] };
    },
    stat: async (path) => (files.includes(path) ? (file as never) : undefined),
  });
}

const checks = {
  Go: 'Go 1.21 or later is available for the restore tool',
  state: 'state snapshot can be downloaded',
  prover: 'prover snapshot can be downloaded',
  repository: 'source repository of the node answers',
};
const bySource = ['Go', 'state', 'prover', 'repository'];
const byOthers = ['state', 'prover'];
const cluster = '/data/state-db/PG_VERSION';
const tool = '/data/snapshot/tool/v3.1.0/zkevm-node';

interface Situation {
  readonly state?: Holds;
  readonly prover?: Holds;
  readonly replace?: boolean;
  readonly files?: readonly string[];
}

test.each<[what: string, situation: Situation, needed: boolean]>([
  ['the databases hold the archives of the inventory', { state: 'same', prover: 'same' }, false],
  ['and may be replaced', { state: 'same', prover: 'same', replace: true }, false],
  ['they hold other archives', { state: 'other', prover: 'other' }, false],
  ['they hold other archives, and may be replaced', { state: 'other', prover: 'other', replace: true }, true],
  ['only one holds another archive', { state: 'same', prover: 'other' }, false],
  [
    'only the prover database is another, and may be replaced',
    { state: 'same', prover: 'other', replace: true },
    true,
  ],
  [
    'only the state database is another, and may be replaced',
    { state: 'other', prover: 'same', replace: true },
    true,
  ],
  ['one restore ended before the host was switched off', { state: 'same', prover: 'unfinished' }, true],
  ['no restore ended', { state: 'unfinished', prover: 'unfinished' }, true],
  ['only the state database was restored', { state: 'same', prover: 'empty' }, true],
  ['that one may be replaced', { state: 'same', prover: 'empty', replace: true }, true],
  ['they are empty', { state: 'empty', prover: 'empty' }, true],
  ['they hold data of somebody else', { state: 'foreign', prover: 'foreign' }, true],
  ['which may be replaced', { state: 'foreign', prover: 'foreign', replace: true }, true],
  ['there is no database server yet', {}, true],
  ['there is none yet, and data may be replaced', { replace: true }, true],
  ['the database server has its files and is off', { files: [cluster] }, false],
  ['it is off, and its data may be replaced', { files: [cluster], replace: true }, true],
])('what a restore needs is asked for where this run restores: %s', async (_, situation, needed) => {
  const { state, prover, replace = false, files = [] } = situation;
  for (const restoreWith of ['source', 'image', 'pg_restore']) {
    const context = await contextOf({
      changes: [
        [['vars', 'snapshot', 'restore_with'], restoreWith],
        [['vars', 'snapshot', 'replace_existing'], replace],
        [['vars', 'paths'], { data: '/data' }],
      ],
    });
    const { snapshot, credentials } = context.vars;
    const host = databaseHost(
      {
        ...(state && { [credentials.state.database]: [state, snapshot.state.sha256] }),
        ...(prover && { [credentials.prover.database]: [prover, snapshot.prover.sha256] }),
      },
      files,
    );
    const resources = await preflight.resources(context);
    const asked = Object.entries(checks).map(async ([what, name]) => {
      const resource = resources.find((each) => each.name === name);
      return resource && (await resource.check(host)).is !== 'ok' ? [what] : [];
    });
    const wanted = restoreWith === 'source' ? bySource : byOthers;
    expect([restoreWith, ...(await Promise.all(asked)).flat()]).toEqual([
      restoreWith,
      ...(needed ? wanted : []),
    ]);
  }
});

test('the repository is not needed where the restore tool of this version is built already', async () => {
  const askedFor = async (files: readonly string[], ref: string) => {
    const source = { repository: 'https://git.example/node', ref, go_version: '1.21' };
    const context = await contextOf({
      changes: [
        [['vars', 'snapshot', 'restore_with'], 'source'],
        [['vars', 'snapshot', 'source'], source],
        [['vars', 'paths'], { data: '/data' }],
      ],
    });
    const resource = (await preflight.resources(context)).find(({ name }) => name === checks.repository);
    return (await resource?.check(databaseHost({}, files)))?.is;
  };
  expect(await askedFor([], 'v3.1.0')).toBe('drift');
  expect(await askedFor([tool], 'v3.1.0')).toBe('ok');
  expect(await askedFor([tool], 'v4.0.0')).toBe('drift');
});
