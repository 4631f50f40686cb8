import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { describeProblem, Problems } from '../../engine/problem/problem.ts';
import { newAuthority, newKey, newServerCertificate } from '../encryption/openssl.ts';
import { authorityFiles } from '../encryption/testing/authority.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';

/** Problems with their places, without the folder. */
async function problemsOf(changes: Changes): Promise<readonly string[]> {
  const error: unknown = await loadDeployment(await labDeployment(changes)).catch(
    (reason: unknown) => reason,
  );
  if (!(error instanceof Problems)) throw new Error('it was loaded');
  const words = error.problems.map((each) => describeProblem(each).replaceAll(/\/tmp\/[\w-]+\//g, ''));
  return [...new Set(words)];
}

const tls = (ca: string, key: string): Changes => [[['vars', 'tls'], { ca, key: `file:${key}` }]];

test('an authority is read for all hosts, with its key in PEM or in one line', async () => {
  const { ca, key, keyFile, put, certificate } = await authorityFiles();
  const der = execFileSync('openssl', ['pkcs8', '-topk8', '-nocrypt', '-in', keyFile, '-outform', 'DER']);
  const other = await newAuthority('former', newKey());
  const both = put('both.pem', `# of lab\n${certificate}${other}`);
  const line = put('line.key', der.toString('base64'));
  for (const [changes, trusted] of [
    [tls(ca, keyFile), certificate],
    [tls(both, line), certificate + other],
  ] as const) {
    const { hosts } = await loadDeployment(await labDeployment(changes));
    for (const { vars } of hosts) {
      expect(vars.tls?.certificate).toBe(certificate);
      expect(vars.tls?.key.reveal()).toBe(key.reveal());
    }
    expect(JSON.stringify(hosts)).not.toContain('PRIVATE KEY');
    expect(hosts[0]?.vars.tls?.trusted).toBe(trusted);
  }
  expect((await loadDeployment(await labDeployment([[['vars', 'tls'], false]]))).hosts[0]?.vars.tls).toBe(
    undefined,
  );
});

test('a wrong authority is refused with its place, before anything is touched', async () => {
  const { ca, keyFile, put, key, certificate, folder } = await authorityFiles();
  const server = await newServerCertificate({ certificate, key }, ['10.0.0.1']);
  const strange = put('strange.key', newKey().reveal());
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
  openssl('req', '-new', '-key', 'ca.key', '-subj', '/CN=x', '-out', 'old.csr');
  put('old.ext', 'basicConstraints = critical, CA:TRUE\n');
  openssl(...'x509 -req -in old.csr -signkey ca.key -days -1 -extfile old.ext -out old.pem'.split(' '));
  const make = 'make it: secrets.mjs generate (docs/encryption.md)';
  const cases: [Changes, RegExp | string][] = [
    [tls(put('text.pem', 'no PEM'), keyFile), `tls.ca: text.pem has no certificate in PEM\n  ${make}`],
    [tls(`${folder}/none.pem`, keyFile), `tls.ca: none.pem does not exist\n  ${make}`],
    [
      tls(put('cut.pem', certificate.replace(/\n[^-]{20}/, '\n')), keyFile),
      'tls.ca: cut.pem has a certificate that is not PEM, the 1. one',
    ],
    [
      tls(put('server.pem', server.reveal()), keyFile),
      `tls.ca: server.pem begins with a certificate of no authority: it may not sign others\n  ${make}`,
    ],
    [
      tls(`${folder}/old.pem`, keyFile),
      /tls\.ca: old\.pem has expired: it was valid until .*\n {2}make a new one: docs\/encryption\.md$/,
    ],
    [
      tls(ca, strange),
      'tls.key is not the private key of the first certificate of ca.pem\n  secrets.mjs generate makes the certificate of a new key; after a rotation it comes first in ca.pem',
    ],
    [
      tls(ca, put('text.key', 'text.Pw~1')),
      'tls.key is not a private key in PEM without a passphrase, or in base64\n  make one: secrets.mjs generate (docs/encryption.md)',
    ],
  ];
  for (const [changes, words] of cases) {
    const [problem = '', ...more] = await problemsOf(changes);
    expect(more).toEqual([]);
    const [, place = '', said = ''] = /^(\S+:\d+:\d+): ([\s\S]*)$/.exec(problem) ?? [];
    expect(place).toMatch(/^inventory\/lab\.yaml:\d+:\d+$/);
    if (words instanceof RegExp) expect(said).toMatch(words);
    else expect(said).toBe(words);
  }
});

test('an authority whose certificates clients do not verify is refused', async () => {
  const { put, folder } = await authorityFiles();
  const openssl = (words: string) =>
    execFileSync('openssl', words.split(' '), { cwd: folder, stdio: 'pipe' });
  const authority = 'basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign\n';
  put('plain.ext', authority);
  put('names.ext', `${authority}nameConstraints = critical, permitted;DNS:example.org\n`);
  put('addresses.ext', `${authority}nameConstraints = critical, excluded;IP:172.30.0.0/255.255.0.0\n`);
  /** An authority that has signed itself, or that another one has signed. */
  const made = (name: string, bits: number, extensions: string, above?: string) => {
    openssl(`req -new -newkey rsa:${bits} -nodes -keyout ${name}.key -subj /CN=${name} -out ${name}.csr`);
    const signer = above ? `-CA ${above}.pem -CAkey ${above}.key -CAcreateserial` : `-signkey ${name}.key`;
    openssl(`x509 -req -in ${name}.csr ${signer} -days 9 -extfile ${extensions}.ext -out ${name}.pem`);
    chmodSync(join(folder, `${name}.key`), 0o600);
    return tls(join(folder, `${name}.pem`), join(folder, `${name}.key`));
  };
  put('lowest.ext', authority.replace('TRUE', 'TRUE, pathlen:0'));
  made('root', 2048, 'plain');
  const chained = (name: string, above: string) => {
    const text = [name, above].map((each) => readFileSync(join(folder, `${each}.pem`), 'utf8')).join('');
    return { text, changes: tls(put(`${name}-chain.pem`, text), join(folder, `${name}.key`)) };
  };
  made('lowest', 2048, 'lowest');
  made('below', 2048, 'plain', 'lowest');
  const cases: [Changes, string | RegExp][] = [
    [
      made('sub', 2048, 'plain', 'root'),
      'sub.pem has no authority that has signed itself: clients follow the signatures up to it\n  put the certificates of the authorities above behind the first one, up to the root',
    ],
    [
      made('weak', 1024, 'plain'),
      'weak.pem has an authority that is too weak: clients refuse an RSA key of less than 2048 bits, and signatures with SHA-1\n  make a new one: secrets.mjs generate (docs/encryption.md)',
    ],
    [
      made('names', 2048, 'names'),
      'names.pem begins with an authority that may not sign for db-1: its name constraints exclude one of 172.30.77.11, db-1, state-db, localhost, 127.0.0.1\n  take one without name constraints: secrets.mjs generate makes it (docs/encryption.md)',
    ],
    [
      made('addresses', 2048, 'addresses'),
      /^addresses\.pem begins with an authority that may not sign for db-1/,
    ],
    [
      chained('below', 'lowest').changes,
      'below-chain.pem signs what clients do not verify: path length constraint exceeded (error 25 of openssl verify)\n  make another one: secrets.mjs generate (docs/encryption.md)',
    ],
  ];
  for (const [changes, words] of cases) {
    const [problem = '', ...more] = await problemsOf(changes);
    expect(more).toEqual([]);
    const [, said = ''] = /^inventory\/lab\.yaml:\d+:\d+: tls\.ca: ([\s\S]*)$/.exec(problem) ?? [];
    if (words instanceof RegExp) expect(said).toMatch(words);
    else expect(said).toBe(words);
  }
  const whole = chained('sub', 'root');
  const { hosts } = await loadDeployment(await labDeployment(whole.changes));
  expect(hosts[0]?.vars.tls?.trusted.trim().split('\n')).toEqual(whole.text.trim().split('\n'));
});

test('an authority from the future is refused: a clock is wrong', async () => {
  const { changes } = await authorityFiles();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 86_400_000);
  const [problem] = await problemsOf(changes);
  clock.mockRestore();
  expect(problem).toMatch(/tls\.ca: ca\.pem is valid only from .*\n {2}check the clock of this machine$/);
});

test('an unknown key, a missing one, and another authority for one host are refused', async () => {
  const { ca, keyFile } = await authorityFiles();
  const own = { ca, key: `file:${keyFile}` };
  const of = async (value: unknown) =>
    (await problemsOf([[['vars', 'tls'], value]])).map((each) => each.replace(/^\S+ /, ''));
  expect(await of({ ...own, cert: 'x' })).toEqual(['unknown key tls.cert\n  known: ca, key']);
  expect(await of({ ca })).toEqual([expect.stringMatching(/^tls\.key is missing/)]);
  const allowed =
    'tls must be a mapping with ca and key, or false\n  docs/encryption.md says how to make both';
  for (const other of [true, 'on', 1, [ca]]) expect(await of(other)).toEqual([allowed]);
  const differs = await problemsOf([
    [['vars', 'tls'], own],
    [['groups', 'rpc', 'rpc-1', 'vars'], { tls: false }],
  ]);
  expect(differs).toEqual([
    expect.stringMatching(/^\S+:\d+:\d+: tls of rpc-1 differs from that of db-1, whose database it uses$/),
  ]);
});

test('public addresses without encryption are a warning, until the inventory says that they may be so', async () => {
  const at = (database: string, rpc: string): Changes => [
    [['groups', 'database', 'db-1', 'address'], database],
    [['groups', 'rpc'], { 'rpc-1': { address: rpc } }],
  ];
  const warnings = async (changes: Changes) =>
    (await loadDeployment(await labDeployment(changes))).warnings ?? [];
  for (const inside of [
    '10.0.0.1',
    '172.31.0.1',
    '192.168.1.1',
    '100.64.0.9',
    '169.254.1.1',
    'fd00::1',
    'db.internal',
    'db.corp.internal.',
    'db-1.home.arpa',
    'db-1',
  ])
    expect(await warnings(at(inside, '10.0.0.2'))).toEqual([]);
  const open = at('203.0.113.5', '2001:db8::7');
  const found = await warnings(open);
  expect(found.map((each) => describeProblem(each).replace(/^\/tmp\/[\w-]+\//, ''))).toEqual([
    expect.stringMatching(
      /^inventory\/lab\.yaml:\d+:\d+: db-1, rpc-1 have public addresses, and SQL between the hosts travels in plain text\n {2}encrypt it: tls, as docs\/encryption\.md says; `tls: false` says that something else does$/,
    ),
  ]);
  const [alone] = await warnings(at('203.0.113.5', '10.0.0.2'));
  expect(alone?.message).toBe('db-1 has a public address, and SQL between the hosts travels in plain text');
  // A name says nothing of its address.
  const named = at('db-1.example.com', 'rpc-1.example.com');
  const [maybe] = await warnings(named);
  expect(maybe && describeProblem(maybe)).toMatch(
    /:\d+:\d+: the address of db-1, rpc-1 is a name that may be public, and SQL between the hosts travels in plain text\n {2}encrypt it: tls, as docs\/encryption\.md says; `tls: false` says that the network is private$/,
  );
  expect((await warnings(at('db-1.example.com', '203.0.113.5')))[0]?.message).toMatch(
    /^rpc-1 has a public address/,
  );
  expect(await warnings([...named, [['vars', 'tls'], false]])).toEqual([]);
  expect(await warnings([...open, [['vars', 'tls'], false]])).toEqual([]);
  expect(await warnings([...open, ...(await authorityFiles()).changes])).toEqual([]);
});

test('a machine without openssl reads an authority: only a deploy signs', async () => {
  const { changes, certificate } = await authorityFiles();
  const file = await labDeployment(changes);
  const folder = temporaryDirectory();
  for (const program of ['sh', 'cat']) symlinkSync(`/bin/${program}`, join(folder, program));
  vi.stubEnv('PATH', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { hosts } = await loadDeployment(file);
  expect(hosts[0]?.vars.tls?.certificate).toBe(certificate);
});
