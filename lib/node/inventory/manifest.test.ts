import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Problems } from '../../engine/problem/problem.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { physicalManifest as physical } from '../testing/physical-manifest.ts';
import { loadDeployment } from './inventory.ts';

const sha256 = (digit: string) => digit.repeat(64);
const manifest = {
  network: 'test',
  date: '2024-06-01',
  taken_at: '2024-06-01T10:00:00Z',
  block: 12,
  hash: `0x${sha256('e')}`,
  state: { file: 'testnet_state_db.sql.tar.gz', sha256: sha256('1'), bytes: 10 },
  prover: { file: 'testnet_prover_db.sql.tar.gz', sha256: sha256('2'), bytes: 20 },
};

/** The lab's inventory with only these settings of the snapshot, and a manifest beside it. */
async function inventory(
  snapshot: Record<string, unknown>,
  text = JSON.stringify(manifest),
): Promise<string> {
  const changes: Changes = [
    [['vars_files'], undefined],
    [['vars', 'network', 'genesis', 'sha256'], sha256('a')],
    [['vars', 'snapshot'], snapshot],
  ];
  const file = await labDeployment(changes);
  writeFileSync(join(dirname(file), 'manifest.json'), text);
  return file;
}

async function problems(file: string): Promise<string[]> {
  const error: unknown = await loadDeployment(file).catch((reason: unknown) => reason);
  if (!(error instanceof Problems)) throw new Error('it was loaded');
  return error.problems.map(({ message, hint, where }) => {
    expect(where?.line).toBeGreaterThan(0);
    return [message.replaceAll(dirname(file), ''), hint].join(' | ');
  });
}

/**
 * A web server with one answer.
 *
 * @returns the address of the manifest there
 */
async function served(status: number, text: string): Promise<string> {
  const server = createServer((_, answer) => answer.writeHead(status).end(text));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/day/manifest.json`;
}

test('a manifest beside the inventory names the archives, which are in a folder elsewhere', async () => {
  const { hosts } = await loadDeployment(
    await inventory({ manifest: 'manifest.json', from: 'http://files/2024-06-01' }),
  );
  expect(hosts[0]?.vars.snapshot).toMatchObject({
    state: { url: 'http://files/2024-06-01/testnet_state_db.sql.tar.gz', sha256: sha256('1') },
    prover: { url: 'http://files/2024-06-01/testnet_prover_db.sql.tar.gz', sha256: sha256('2') },
    date: '2024-06-01',
    restore_with: 'image',
  });
});

test('the archives, or pieces, may be in a folder of the Database+Sync server', async () => {
  const here = { manifest: 'manifest.json', from: '/mnt/snapshots/today' };
  const archives = await loadDeployment(await inventory(here));
  expect(archives.hosts[0]?.vars.snapshot.state.url).toBe(
    'file:///mnt/snapshots/today/testnet_state_db.sql.tar.gz',
  );
  const pieces = await loadDeployment(await inventory(here, JSON.stringify(physical)));
  expect(pieces.hosts[0]?.vars.snapshot.physical?.folder).toBe('file:///mnt/snapshots/today/');
});

test('a manifest may be named by its whole path', async () => {
  const beside = await inventory({ manifest: 'manifest.json', from });
  const manifest = join(dirname(beside), 'manifest.json');
  const { hosts } = await loadDeployment(await inventory({ manifest, from }));
  expect(hosts[0]?.vars.snapshot.state.url).toBe('http://files/testnet_state_db.sql.tar.gz');
});

test('the archives are beside a manifest on a web server', async () => {
  const address = await served(200, JSON.stringify(manifest));
  const { hosts } = await loadDeployment(await inventory({ manifest: address }));
  expect(hosts[0]?.vars.snapshot.state.url).toBe(new URL('/day/testnet_state_db.sql.tar.gz', address).href);
});

test('the pieces of a physical snapshot are beside its manifest, which stands for both archives', async () => {
  const text = JSON.stringify(physical);
  const { hosts } = await loadDeployment(
    await inventory({ manifest: 'manifest.json', from: 'http://files/a' }, text),
  );
  expect(hosts[0]?.vars.snapshot).toMatchObject({
    state: { sha256: createHash('sha256').update(text).digest('hex') },
    date: '2024-06-01',
    physical: { folder: 'http://files/a/', manifest: { block: 12 } },
  });
});

const hint = 'it is the manifest.json that playbooks/snapshot.mjs writes; a copy beside the inventory lasts';
const from = 'http://files/';

test.each<[Record<string, unknown>, string | undefined, string[]]>([
  [
    { restore_with: 'image' },
    undefined,
    ['state', 'prover', 'date'].map(
      (key) => `snapshot.${key} is missing | state, prover, date are needed, or a manifest`,
    ),
  ],
  [
    { manifest: 'manifest.json', from, date: '2024-06-01' },
    undefined,
    ['snapshot.date has no use: the manifest has it | leave one of the two out'],
  ],
  [{ manifest: 'manifest.json' }, undefined, ['snapshot.from is missing: the manifest is a file here | ']],
  [
    { manifest: 'http://me:pw@files/manifest.json' },
    undefined,
    ['snapshot.manifest must be a web address without user name and password, or a path | '],
  ],
  [
    {
      from,
      date: '2024-06-01',
      state: { url: from, sha256: sha256('1') },
      prover: { url: from, sha256: sha256('2') },
    },
    undefined,
    ['snapshot.from has no use without a manifest | '],
  ],
  [{ manifest: 'other.json', from }, undefined, [`snapshot.manifest: /other.json does not exist | ${hint}`]],
  [{ manifest: '.', from }, undefined, [`snapshot.manifest:  is a folder | ${hint}`]],
  [
    { manifest: 'manifest.json', from },
    '{',
    [`snapshot.manifest: /manifest.json is not a manifest of a snapshot | ${hint}`],
  ],
  [
    { manifest: 'manifest.json', from },
    JSON.stringify({ ...manifest, state: { ...manifest.state, file: '../x' } }),
    [`snapshot.manifest: /manifest.json is not a manifest of a snapshot | ${hint}`],
  ],
  [
    { manifest: 'manifest.json', from },
    JSON.stringify({ ...manifest, network: 'main' }),
    [`snapshot.manifest: /manifest.json is of the main network | ${hint}`],
  ],
  [
    { manifest: 'manifest.json', from },
    JSON.stringify({ ...manifest, state: manifest.prover, prover: manifest.state }),
    [
      `snapshot.manifest: /manifest.json names testnet_prover_db.sql.tar.gz as the state archive, which is called testnet_state_db.sql.tar.gz | ${hint}`,
    ],
  ],
  [
    { manifest: 'manifest.json', from: 'http://files/a?signature=x' },
    undefined,
    ['snapshot.from must not have a query: the names of the archives are put behind it | '],
  ],
  [
    { manifest: 'http://files/manifest.json?signature=x' },
    undefined,
    ['snapshot.from is missing: the archives would have no query, as the manifest has | '],
  ],
])('%j', async (snapshot, text, expected) => {
  expect(await problems(await inventory(snapshot, text))).toEqual(expected);
});

test.each<[Record<string, unknown>, Record<string, unknown>, string]>([
  [{ network: 'main' }, {}, 'is of the main network'],
  [{ chain_id: 1 }, {}, 'is of another chain: its chain_id is 1'],
  [{ postgres: 16 }, {}, 'is of PostgreSQL 16, whose files PostgreSQL 15 cannot read'],
  [
    {},
    { replace_existing: true },
    'is of a physical snapshot, which replaces nothing: leave out replace_existing',
  ],
  [
    {},
    { restore_with: 'pg_restore' },
    'is of a physical snapshot, which no tool restores: leave out restore_with',
  ],
  [
    { pieces: [{ ...physical.pieces[0], file: '../x' }] },
    {},
    'was written by version 0.1.0, and cannot be read here: pieces.0.file: must be the name of a piece',
  ],
  [
    { pieces: [{ ...physical.pieces[0], last: { path: 'base/../../x', bytes: 1 } }] },
    {},
    'was written by version 0.1.0, and cannot be read here: pieces.0.last.path: must be a path within a folder',
  ],
  [
    { version: '9.0.0', delta_of: 'yesterday' },
    {},
    'was written by version 9.0.0, and cannot be read here: Unrecognized key: "delta_of"',
  ],
  [{ format: 'piecewise' }, {}, 'is not a manifest of a snapshot'],
])('a physical snapshot with %j, and %j', async (changed, snapshot, why) => {
  const file = await inventory(
    { manifest: 'manifest.json', from, ...snapshot },
    JSON.stringify({ ...physical, ...changed }),
  );
  expect(await problems(file)).toEqual([`snapshot.manifest: /manifest.json ${why} | ${hint}`]);
});

test('a manifest beside archives of another file, which has only their checksums, is told once for each', async () => {
  const file = await inventory({ manifest: 'manifest.json', from });
  const values = {
    snapshot: { state: { sha256: sha256('1') }, prover: { sha256: sha256('2') }, date: '2024-06-01' },
  };
  writeFileSync(join(dirname(file), 'values.yaml'), JSON.stringify(values));
  writeFileSync(file, `vars_files: [values.yaml]\n${readFileSync(file, 'utf8')}`);
  expect(await problems(file)).toEqual(
    ['state', 'prover', 'date'].map(
      (key) => `snapshot.${key} has no use: the manifest has it | leave one of the two out`,
    ),
  );
});

test.each([
  [404, '', 'answers HTTP 404'],
  [200, 'x'.repeat(17 * 1024 ** 2), 'is longer than 16777216 bytes'],
])('a web server that answers %i', async (status, text, why) => {
  const address = await served(status, text);
  // A signed address is as good as a password.
  expect(await problems(await inventory({ manifest: `${address}?signature=x`, from }))).toEqual([
    `snapshot.manifest: ${address} ${why} | ${hint}`,
  ]);
});

const s3 = {
  endpoint: 'http://127.0.0.1:1',
  access_key: 'env:STORAGE_KEY',
  secret_key: 'env:STORAGE_SECRET',
};
const stored = 's3://snapshots/today/manifest.json';

type Refused = [Record<string, unknown>, string[]];

test.each<Refused>([
  [
    { manifest: stored },
    [`snapshot.s3 is missing: ${stored} is in a storage, which needs endpoint, access_key and secret_key | `],
  ],
  [
    { manifest: 's3://snapshots', s3 },
    [
      'snapshot.manifest must be a bucket and a name in it, s3://bucket/folder: letters, digits and . _ ~ - alone, and no / at its end | ',
    ],
  ],
  [
    { manifest: 'manifest.json', from: 's3://snapshots/to day', s3 },
    [
      'snapshot.from must be a bucket and a name in it, s3://bucket/folder: letters, digits and . _ ~ - alone, and no / at its end | ',
    ],
  ],
  ...['/mnt/to day', '/mnt/../today', 'snapshots/today', 'files.example/today'].map(
    (path): Refused => [
      { manifest: 'manifest.json', from: path },
      [
        'snapshot.from must be a web address, s3://bucket/folder, or a folder of the Database+Sync server: an absolute path of letters, digits, . _ - and /, with no / at its end | ',
      ],
    ],
  ),
  [
    { manifest: stored, s3: { ...s3, endpoint: 'https://storage.example/bucket' } },
    ['snapshot.s3.endpoint must be scheme, host and port alone: the bucket is in s3://bucket/folder | '],
  ],
  [
    { manifest: stored, s3: { ...s3, region: 'EU West' } },
    ['snapshot.s3.region must be of small letters, digits and - | '],
  ],
  [
    { manifest: stored, s3: { ...s3, access_key: 'AKIAEXAMPLE' } },
    [
      'snapshot.s3.access_key must be a reference, env:NAME, file:PATH, secret:NAME or cmd:COMMAND: a secret is never in an inventory | ',
    ],
  ],
  [
    { manifest: stored, s3: { ...s3, secret_key: 'env:NOT_SET_ANYWHERE' } },
    [
      'snapshot.s3.secret_key: environment variable NOT_SET_ANYWHERE is not set | export NOT_SET_ANYWHERE before the run',
    ],
  ],
  [
    { manifest: stored, s3: { ...s3, access_key: 'env:STORAGE_COLON' } },
    [
      'snapshot.s3.access_key (from environment variable STORAGE_COLON) has a character that is not allowed: a key of a storage has letters, digits and marks alone, and no colon and no space | copy the key again as the storage shows it',
    ],
  ],
])('a storage of snapshots: %j', async (snapshot, words) => {
  vi.stubEnv('STORAGE_KEY', 'AKIAEXAMPLE');
  vi.stubEnv('STORAGE_SECRET', 'very/Secret');
  vi.stubEnv('STORAGE_COLON', 'a:b');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await problems(await inventory(snapshot))).toEqual(words);
});

test('archives may be in a storage, and their names stay as they are in the inventory', async () => {
  vi.stubEnv('STORAGE_KEY', 'AKIAEXAMPLE');
  vi.stubEnv('STORAGE_SECRET', 'very/Secret');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { hosts } = await loadDeployment(
    await inventory({ manifest: 'manifest.json', from: 's3://snapshots/today', s3 }),
  );
  const { snapshot } = hosts[0]?.vars ?? {};
  expect(snapshot?.state.url).toBe('s3://snapshots/today/testnet_state_db.sql.tar.gz');
  expect(snapshot?.s3).toMatchObject({ endpoint: s3.endpoint, region: 'us-east-1', path_style: true });
  expect(JSON.stringify(snapshot)).not.toMatch(/AKIAEXAMPLE|very/);
});

test('a manifest in a storage needs curl on this machine', async () => {
  const programs = mkdtempSync(join(tmpdir(), 'programs-'));
  onTestFinished(() => rmSync(programs, { recursive: true }));
  for (const name of ['sh', 'cat']) symlinkSync(`/bin/${name}`, join(programs, name));
  const file = await inventory({ manifest: stored, s3 });
  vi.stubEnv('STORAGE_KEY', 'AKIAEXAMPLE');
  vi.stubEnv('STORAGE_SECRET', 'very/Secret');
  vi.stubEnv('PATH', programs);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await problems(file)).toEqual([
    `snapshot.manifest: ${stored} cannot be read: curl is not installed on this machine | ${hint}`,
  ]);
});

test('a manifest in a storage that does not answer', async () => {
  vi.stubEnv('STORAGE_KEY', 'AKIAEXAMPLE');
  vi.stubEnv('STORAGE_SECRET', 'very/Secret');
  onTestFinished(() => void vi.unstubAllEnvs());
  const found = await problems(await inventory({ manifest: stored, s3 }));
  expect(found[0]).toMatch(
    /^snapshot\.manifest: s3:\/\/snapshots\/today\/manifest\.json cannot be read: the storage at 127\.0\.0\.1:1 does not answer \S+ \(.*\): check snapshot\.s3\.endpoint/,
  );
});

test('a web server that does not answer', async () => {
  const found = await problems(await inventory({ manifest: 'http://127.0.0.1:1/manifest.json' }));
  expect(found[0]).toMatch(/manifest.json cannot be read \((?!undefined)[\w ]+\)/);
});
