import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { describeProblem, Problem, Problems } from '../problem/problem.ts';
import { newKeyPair } from '../secret/testing/keys.ts';
import { anyCharacter } from '../testing/any-character.ts';
import { cpuSeconds } from '../testing/cpu-seconds.ts';
import { loadInventory } from './load.ts';
import { parseYaml } from './parse-yaml.ts';

const forFormat = (message: string) => ({
  error: ({ code }: z.core.$ZodRawIssue) => (code === 'invalid_format' ? message : undefined),
});
const schema = z.strictObject({
  network: z.strictObject({
    kind: z.enum(['main', 'test']),
    url: z.url(forFormat('must be a web address')).describe('Address of it'),
    chain_id: z.int().positive(),
  }),
  loud: z.boolean().default(false),
  day: z.iso.date(forFormat('must be a day, YYYY-MM-DD')).optional(),
  servers: z.array(z.string().min(1)).default([]),
  region: z.string().optional(),
});

const good = `vars:
  network: { kind: test, url: 'http://a.example/', chain_id: 7 }
groups:
  database: { db-1: { address: 10.0.0.1 } }
  rpc: { rpc-1: { address: 10.0.0.2 } }
`;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inventory-'));
});

afterAll(() => rm(folder, { recursive: true }));

let count = 0;
async function write(files: Record<string, string | Buffer>): Promise<string> {
  const here = join(folder, String(++count));
  await mkdir(here);
  for (const [name, content] of Object.entries(files)) await writeFile(join(here, name), content);
  return here;
}

/** The problems of a file, without its directory. */
async function complaints(files: Record<string, string | Buffer>): Promise<string[]> {
  const here = await write(files);
  try {
    await loadInventory(join(here, 'a.yaml'), schema);
    return [];
  } catch (error) {
    const problems =
      error instanceof Problems ? error.problems : error instanceof Problem ? [error] : undefined;
    if (!problems) throw error;
    return problems.map((problem) => describeProblem(problem).replaceAll(`${here}/`, ''));
  }
}

describe('a valid inventory', () => {
  test('is read, by path and by name, in the order of the file', async () => {
    const here = await write({ 'a.yaml': good.replace('rpc-1: {', "'9': { address: 10.0.0.9 }, '1': {") });
    const byPath = await loadInventory(join(here, 'a.yaml'), schema);
    const byName = await loadInventory('a', schema, { folder: here });
    expect(byName.hosts).toEqual(byPath.hosts);
    expect(byPath.name).toBe('a');
    expect(byPath.hosts.map(({ name }) => name)).toEqual(['db-1', '9', '1']);
    expect(byPath.hosts[0]).toMatchObject({
      groups: ['database'],
      connection: {
        type: 'ssh',
        address: '10.0.0.1',
        port: undefined,
        user: undefined,
        hostKeys: [],
        jump: [],
        client: undefined,
      },
      vars: { network: { kind: 'test', chain_id: 7 }, loud: false },
    });
  });

  test('merges host over vars over variables files, and each value keeps its place', async () => {
    const here = await write({
      'a.yaml': `vars_files: [one.yaml, two.yaml]
vars:
  network: { kind: main }
groups:
  rpc:
    rpc-1:
      address: 10.0.0.2
      region: somewhere
      vars:
        network: { chain_id: 9 }
`,
      'one.yaml':
        'network: { kind: test, url: http://one.example/, chain_id: 1 }\nloud: true\nservers: [a, b]\n',
      'two.yaml': 'network:\n  chain_id: 2\nservers: [c]\n',
    });
    const inventory = await loadInventory(join(here, 'a.yaml'), schema);
    expect(inventory.hosts[0]?.vars).toEqual({
      network: { kind: 'main', url: 'http://one.example/', chain_id: 9 },
      loud: true,
      servers: ['c'],
      region: 'somewhere',
    });
    expect(inventory.placeOf('rpc-1', ['network', 'chain_id'])).toEqual({
      file: join(here, 'a.yaml'),
      line: 10,
      column: 30,
    });
    expect(inventory.placeOf('rpc-1', ['network', 'url'])).toEqual({
      file: join(here, 'one.yaml'),
      line: 1,
      column: 29,
    });
    expect(inventory.placeOf('rpc-1', ['servers'])).toEqual({
      file: join(here, 'two.yaml'),
      line: 3,
      column: 10,
    });
  });

  test('may have SSH defaults, which a host overrides; paths are relative to it', async () => {
    const here = await write({
      'a.yaml': `ssh: { user: root, port: 2222, identity_file: keys/id, known_hosts: ~/hosts, jump: a@b:1 }
${good.replace('{ address: 10.0.0.2 }', '{ address: "fd00::2", user: op, port: 22, jump: [c, d], host_key: ssh-ed25519 AAAA }')}`,
    });
    const [db, rpc] = (await loadInventory(join(here, 'a.yaml'), schema)).hosts;
    expect(db?.connection).toMatchObject({
      user: 'root',
      port: 2222,
      identityFile: join(here, 'keys/id'),
      jump: ['a@b:1'],
    });
    expect(db?.connection.knownHostsFile).toMatch(/^\/.*[^~]\/hosts$/);
    expect(rpc?.connection).toMatchObject({
      type: 'ssh',
      address: 'fd00::2',
      user: 'op',
      port: 22,
      jump: ['c', 'd'],
      hostKeys: ['ssh-ed25519 AAAA'],
    });
  });

  test('may have a byte order mark, CRLF, anchors and merge keys', async () => {
    expect(await complaints({ 'a.yaml': `\uFEFF${good.replaceAll('\n', '\r\n')}` })).toEqual([]);
    const anchored = good
      .replace('{ address: 10.0.0.1 }', '&h { address: 10.0.0.1, user: op }')
      .replace('{ address: 10.0.0.2 }', '{ <<: *h, address: 10.0.0.2 }');
    const here = await write({ 'a.yaml': anchored });
    const { hosts } = await loadInventory(join(here, 'a.yaml'), schema);
    expect(hosts.map(({ connection }) => [connection.address, connection.user])).toEqual([
      ['10.0.0.1', 'op'],
      ['10.0.0.2', 'op'],
    ]);
  });

  test('may merge several mappings, of which the first with a key wins', async () => {
    const merged = good
      .replace('{ address: 10.0.0.1 }', '{ address: 10.0.0.1, user: op }')
      .replace(
        '{ address: 10.0.0.2 }',
        '{ <<: [&a { port: 1022, user: x }, { port: 2022, jump: c }], address: 10.0.0.2 }',
      );
    const here = await write({ 'a.yaml': merged });
    const { hosts } = await loadInventory(join(here, 'a.yaml'), schema);
    expect(hosts[1]?.connection).toMatchObject({ port: 1022, user: 'x', jump: ['c'] });
  });

  test('may take a sudo password from a file of mode 0600', async () => {
    const here = await write({ 'a.yaml': `ssh: { become_password: file:pw }\n${good}`, pw: 'p w\n' });
    const wide = loadInventory(join(here, 'a.yaml'), schema);
    await expect(wide).rejects.toThrow(
      /a\.yaml:1:25: become_password: .*pw has mode 0644; a secret must be 0600 or stricter/,
    );
    await chmod(join(here, 'pw'), 0o600);
    const { hosts } = await loadInventory(join(here, 'a.yaml'), schema);
    expect(hosts[0]?.connection.becomePassword?.reveal()).toBe('p w');
  });
});

const v = (text: string): string => good.replace('chain_id: 7 }', `chain_id: 7 }\n${text}`);

test.each<[string, string | Buffer, string[]]>([
  ['unknown key at the top', `var: {}\n${good}`, ['a.yaml:1:1: unknown key var\n  did you mean vars?']],
  [
    'unknown variable',
    good.replace('url:', 'ulr:'),
    [
      'a.yaml:2:3: network.url is missing\n  Address of it',
      'a.yaml:2:26: unknown key network.ulr\n  did you mean url?',
    ],
  ],
  [
    'unknown variable, nothing near',
    v('  zzzzzz: 1'),
    ['a.yaml:3:3: unknown key zzzzzz\n  known: network, loud, day, servers, region'],
  ],
  [
    'unknown key of a host',
    good.replace('address: 10.0.0.2', 'address: 10.0.0.2, prt: 3'),
    ['a.yaml:5:38: unknown key groups.rpc.rpc-1.prt\n  did you mean port?'],
  ],
  [
    'wrong type',
    good.replace('7', "'7'"),
    ['a.yaml:2:62: network.chain_id must be a whole number, not text\n  write the value without quotes'],
  ],
  [
    'two regions of a host',
    good.replace('address: 10.0.0.2', 'address: 10.0.0.2, region: here, vars: { region: there }'),
    ['a.yaml:5:68: rpc-1 has two regions: here, and there in its vars\n  keep one of them'],
  ],
  [
    'a number with its unit',
    good.replace('7', '7d'),
    [
      'a.yaml:2:62: network.chain_id must be a whole number, not text\n  write the number alone, in the unit of the key: docs/configuration.md has it',
    ],
  ],
  [
    'a number in place of text',
    v('  day: 20241101\n  servers: [1.10]\n  region: true'),
    [
      // In quotes it would be wrong, too.
      'a.yaml:3:8: day must be a day, YYYY-MM-DD',
      "a.yaml:4:13: servers.0 must be text, not a number with a fraction\n  put the value in quotes, '…': as a number it loses zeros in front and digits after the sixteenth",
      "a.yaml:5:11: region must be text, not true or false\n  put the value in quotes, '…'",
    ],
  ],
  [
    'yes for true',
    v('  loud: yes'),
    ['a.yaml:3:9: loud must be true or false, not text\n  YAML 1.2 knows only true and false'],
  ],
  [
    'a word not in the list',
    good.replace('kind: test', 'kind: tset'),
    ['a.yaml:2:20: network.kind must be one of main, test\n  did you mean test?'],
  ],
  ['no value', v('  day:'), ['a.yaml:3:3: day has no value']],
  [
    'no address',
    good.replace('http://a.example/', 'a.example'),
    ['a.yaml:2:31: network.url must be a web address'],
  ],
  [
    'fraction and sign',
    good.replace('chain_id: 7', 'chain_id: -1'),
    ['a.yaml:2:62: network.chain_id must be more than 0'],
  ],
  [
    'a list in place of a mapping',
    good.replace(/network: .*/, 'network: [1]'),
    ['a.yaml:2:12: network must be a mapping, not a list'],
  ],
  ['an empty item of a list', v("  servers: [a, '']"), ['a.yaml:3:16: servers.1 must not be empty']],
  ['a wrong day', v('  day: 2024-02-30'), ['a.yaml:3:8: day must be a day, YYYY-MM-DD']],
  [
    'duplicate key',
    v('  loud: true\n  loud: false'),
    ['a.yaml:4:3: this key is defined a second time\n  keep one of the two'],
  ],
  [
    'two mappings merged each by its own <<',
    v('  <<: { loud: true }\n  <<: { loud: false }'),
    [
      'a.yaml:4:3: this mapping has << a second time\n  write one with a list, of which the first mapping with a key wins: <<: [*ONE, *OTHER]',
    ],
  ],
  [
    'a colon that was forgotten',
    good.replace('  rpc: {', '  rpc\n    rpc-0: {'),
    [
      expect.stringMatching(
        /^a\.yaml:\d+:\d+: a colon is missing here\n {2}a key and its value are written as KEY: VALUE$/,
      ),
    ],
  ],
  [
    'an address that is not valid',
    good.replace(/address: \S+/, 'address: 10.0.0.321,'),
    [expect.stringContaining('must be an IPv4 address of four numbers, each at most 255')],
  ],
  [
    'a tab',
    good.replace('  network', '\tnetwork'),
    ['a.yaml:2:1: YAML cannot be indented by tabs\n  indent with spaces'],
  ],
  [
    'tabs: only the first is reported',
    good.replaceAll('\n  ', '\n\t'),
    ['a.yaml:2:1: YAML cannot be indented by tabs\n  indent with spaces'],
  ],
  [
    'a wrong indent: what follows is not reported',
    good.replace('groups:', ' groups: @'),
    [
      'a.yaml:3:1: the indentation differs from the lines around it\n  indent it as its neighbours, and close each bracket above',
    ],
  ],
  [
    'text that is not YAML',
    good.replace('vars:', 'vars: ]'),
    [
      'a.yaml:1:7: not valid YAML: Unexpected flow-seq-end token in YAML stream\n  when in doubt, put the value in single quotes',
    ],
  ],
  ['a key that is a list', `? [a]\n: b\n${good}`, ['a.yaml:1:3: a key must be a plain word']],
  [
    'a merge of a list',
    `<<: [a]\n${good}`,
    ['a.yaml:1:6: << merges a mapping only\n  name a mapping that has an anchor: <<: *NAME'],
  ],
  ['empty', '', ['a.yaml:1:1: this file is empty']],
  [
    'line ends of an old Macintosh',
    good.replaceAll('\n', '\r'),
    ['a.yaml:1:1: the lines of this file end with carriage returns alone\n  save it with Unix line ends'],
  ],
  ['comments only', '# nothing\n', ['a.yaml:1:1: this file is empty']],
  ['a list at the top', '- a\n', ['a.yaml:1:1: the top of this file must be a mapping (key: value)']],
  [
    'two documents',
    `${good}---\nvars: {}\n`,
    ['a.yaml:6:1: a second document starts here; there may be only one\n  remove the line ---'],
  ],
  [
    'not text',
    Buffer.from([0x61, 0x3a, 0xff, 0xfe]),
    ['a.yaml:1:3: this is not UTF-8 text\n  save the file as UTF-8'],
  ],
  [
    'no groups',
    'vars:\n  network: { kind: test, url: http://a.example/, chain_id: 7 }\n',
    ['a.yaml:1:1: groups is missing\n  Hosts by group'],
  ],
  [
    'a host twice',
    good.replace('rpc-1:', 'db-1:'),
    [
      'a.yaml:5:10: host db-1 is defined a second time; the first is in group database\n  for the same host in both groups, write only db-1: here',
    ],
  ],
  [
    'an address twice',
    good.replace('10.0.0.2', '10.0.0.1'),
    ['a.yaml:5:28: rpc-1 has the same address as db-1: 10.0.0.1 port 22\n  each host is named once'],
  ],
  [
    'one name in two ways of writing',
    good.replace('10.0.0.1', 'Foo.example').replace('10.0.0.2', 'foo.example.'),
    ['a.yaml:5:28: rpc-1 has the same address as db-1: foo.example port 22\n  each host is named once'],
  ],
  [
    'one IPv6 address in two ways of writing',
    good.replace('10.0.0.1', '"2001:db8::1"').replace('10.0.0.2', '"2001:DB8:0:0::0001"'),
    ['a.yaml:5:28: rpc-1 has the same address as db-1: 2001:db8::1 port 22\n  each host is named once'],
  ],
  [
    'one address, its port once in ssh',
    `ssh: { port: 2022 }\n${good.replace('10.0.0.1', '10.0.0.2, port: 2022')}`,
    ['a.yaml:6:28: rpc-1 has the same address as db-1: 10.0.0.2 port 2022\n  each host is named once'],
  ],
  [
    'this machine twice',
    good
      .replace('10.0.0.1', '10.0.0.1, connection: local')
      .replace('10.0.0.2', '10.0.0.2, connection: local'),
    ['a.yaml:5:28: rpc-1 has the same address as db-1: this machine\n  each host is named once'],
  ],
  [
    'settings of SSH for this machine',
    good.replace('10.0.0.2', '10.0.0.2, connection: local, user: op, jump: [a, b]'),
    [
      'a.yaml:5:63: user of rpc-1 has no use: connection is local, so there is no login\n  leave user out; the run is at work on this machine, as the user who starts it',
      'a.yaml:5:73: jump of rpc-1 has no use: connection is local, so there is no login\n  leave jump out; the run is at work on this machine, as the user who starts it',
    ],
  ],
  [
    'a port in an address',
    good.replace('10.0.0.2', '"192.0.2.21:2222"'),
    [
      'a.yaml:5:28: groups.rpc.rpc-1.address must be a host name or an IP address, without a port\n  port has a key of its own: { address: …, port: 2222 }',
    ],
  ],
  ...[
    ['0.0.0.0', 'must be the address of one host, and 0.0.0.0 is the address of every interface'],
    ['"::0"', 'must be the address of one host, and ::0 is the address of every interface'],
    [
      '255.255.255.255',
      'must be the address of one host, and 255.255.255.255 is a broadcast address, or a reserved one',
    ],
    ['"ff02::1"', 'must be the address of one host, and ff02::1 is a multicast address'],
    ['"::ffff:10.0.0.2"', 'is an IPv4 address in the notation of IPv6: write 10.0.0.2'],
  ].map(([address = '', words]): [string, string, string[]] => [
    `the address ${address}`,
    good.replace('10.0.0.2', address),
    [`a.yaml:5:28: groups.rpc.rpc-1.address ${words}`],
  ]),
  [
    'a host without address',
    good.replace('{ address: 10.0.0.2 }', '{}'),
    [
      'a.yaml:5:10: groups.rpc.rpc-1.address is missing\n  Host name or IP address: for SSH, and where the other hosts reach it',
    ],
  ],
  [
    'a host that is nothing',
    good.replace('{ address: 10.0.0.2 }', ''),
    [
      'a.yaml:5:10: host rpc-1 has no address\n  write its settings in one of its groups: rpc-1: { address: … }',
    ],
  ],
  [
    'a host called like a group',
    good.replace('rpc-1:', 'database:'),
    ['a.yaml:5:10: no host can be called database: in a host pattern that means the group'],
  ],
  [
    'a host called all',
    good.replace('rpc-1:', 'all:'),
    ['a.yaml:5:10: no host can be called all: in a host pattern that means all hosts'],
  ],
  [
    'a group that JavaScript knows',
    good.replace('rpc:', '__proto__:'),
    ['a.yaml:5:3: unknown key __proto__'],
  ],
  [
    'a name of two lines',
    good.replace('rpc-1:', '"a\\nb":'),
    [
      'a.yaml:5:10: groups.rpc.a\\nb: the name must start with a letter or digit and hold only letters, digits, . _ -',
    ],
  ],
  [
    'brackets without end',
    `a: ${'['.repeat(9999)}`,
    [expect.stringMatching(/^a\.yaml:1:\d+: this is nested too deeply/)],
  ],
  [
    'a name that leaves its folder',
    good.replace('rpc-1:', '../x:'),
    [
      'a.yaml:5:10: groups.rpc.../x: the name must start with a letter or digit and hold only letters, digits, . _ -',
    ],
  ],
  [
    'an option for an address',
    good.replace('10.0.0.2', '-oProxyCommand=x'),
    ['a.yaml:5:28: groups.rpc.rpc-1.address must be a host name or an IP address'],
  ],
  [
    'a plain sudo password',
    good.replace('10.0.0.2 }', '10.0.0.2, become_password: hunter2 }'),
    [
      'a.yaml:5:55: groups.rpc.rpc-1.become_password must be a reference, env:NAME, file:PATH, secret:NAME or cmd:COMMAND: a secret is never in an inventory',
    ],
  ],
  [
    'a file of variables that does not exist',
    `vars_files: [x.yaml]\n${good.replace("url: 'http://a.example/', ", '')}`,
    ['a.yaml:1:14: x.yaml does not exist'],
  ],
  [
    'an unset variable of the environment',
    `ssh: { become_password: env:SURELY_NOT_SET }\n${good}`,
    [
      'a.yaml:1:25: become_password: environment variable SURELY_NOT_SET is not set\n  export SURELY_NOT_SET before the run',
    ],
  ],
  [
    'placeholders come first, and nothing else is reported about them',
    `${good.replace('7', "'<FILL: the chain id>'").replace("'http://a.example/'", "'http://<FILL: host>/'")}x: 1\n`,
    [
      'a.yaml:2:31: network.url is not filled in\n  fill in: host',
      'a.yaml:2:65: network.chain_id is not filled in\n  fill in: the chain id',
      'a.yaml:6:1: unknown key x\n  known: vars_files, ssh, vars, groups',
    ],
  ],
])('%s', async (_, content, expected) => {
  expect(await complaints({ 'a.yaml': content })).toEqual(expected);
});

test('secrets that are missing for sure are reported together with all else, without a question for a passphrase', async () => {
  const content = `ssh: { become_password: env:SURELY_NOT_SET }
${good.replace("'http://a.example/'", 'env:NOT_SET_EITHER').replace('7', "'<FILL: it>'")}vars_files: [b.yaml]
`;
  const variables = "region: 'secret:one'\nservers: ['cmd:exit 1', 'file:nowhere', 'env:HOME']\n";
  const said = [
    'a.yaml:3:61: network.chain_id is not filled in\n  fill in: it',
    'a.secrets.age does not exist\n  npx zx playbooks/secrets.mjs --inventory a.yaml generate',
    'a.yaml:1:25: ssh.become_password: environment variable SURELY_NOT_SET is not set\n  export SURELY_NOT_SET before the run',
    'a.yaml:3:31: network.url: environment variable NOT_SET_EITHER is not set\n  export NOT_SET_EITHER before the run',
  ];
  expect(await complaints({ 'a.yaml': content, 'b.yaml': variables })).toEqual(said);
  // It would have to be opened.
  const there = await complaints({ 'a.yaml': content, 'b.yaml': variables, 'a.secrets.age': 'x' });
  expect(there).toEqual(said.filter((line) => !line.includes('secrets.age')));
});

test('all problems are reported at once, in the order of the files, also those of a host and of a variables file', async () => {
  const said = await complaints({
    'a.yaml': `vars_files: [b.yaml]
vars: { lout: true }
groups:
  rpc:
    rpc-1: { address: 10.0.0.1, vars: { network: { kind: x } } }
    rpc-2: { address: 10.0.0.1 }
`,
    'b.yaml': 'network: { kind: test, url: http://b.example/, chain_id: x }\n',
  });
  expect(said).toEqual([
    'a.yaml:2:9: unknown key lout\n  did you mean loud?',
    'a.yaml:5:58: network.kind must be one of main, test',
    'a.yaml:6:23: rpc-2 has the same address as rpc-1: 10.0.0.1 port 22\n  each host is named once',
    'b.yaml:1:58: network.chain_id must be a whole number, not text',
  ]);
});

test.each([
  ['defined first', 'groups:\n  database: { one: { address: 10.0.0.1 } }\n  rpc: { one: }\n'],
  ['named first', 'groups:\n  database: { one: }\n  rpc: { one: { address: 10.0.0.1 } }\n'],
])('a host may be in two groups, with its settings in one of them: %s', async (_, groups) => {
  const here = await write({ 'a.yaml': good.replace(/groups:[\s\S]*/, groups) });
  const { hosts, placeOfGroup } = await loadInventory(join(here, 'a.yaml'), schema);
  expect(hosts.map(({ name, groups, connection }) => [name, groups, connection.address])).toEqual([
    ['one', ['database', 'rpc'], '10.0.0.1'],
  ]);
  expect(placeOfGroup('rpc', 'one')).toMatchObject({ line: 5, column: 10 });
});

test('a placeholder that every host overrides is not reported', async () => {
  const filled = good
    .replace('chain_id: 7', "chain_id: '<FILL: it>'")
    .replace('10.0.0.1 }', '10.0.0.1, vars: { network: { chain_id: 1 } } }');
  expect(await complaints({ 'a.yaml': filled })).toEqual([
    'a.yaml:2:62: network.chain_id is not filled in\n  fill in: it',
  ]);
  expect(
    await complaints({
      'a.yaml': filled.replace('10.0.0.2 }', '10.0.0.2, vars: { network: { chain_id: 1 } } }'),
    }),
  ).toEqual([]);
});

test('an inventory that is a file of variables is reported once, at its groups', async () => {
  const files = {
    'a.yaml': `vars_files: [other.yaml]\n${good.replace(', chain_id: 7', '')}`,
    'other.yaml': good,
  };
  expect(await complaints(files)).toEqual([
    'other.yaml:3:1: other.yaml is an inventory: it has groups\n  a file of vars_files holds variables only, as they are under vars',
  ]);
});

test.each([
  ['[database]\ndb-1 ansible_host=192.0.2.11\n', '1:1'],
  ['# ours\n\nbastion\n[rpc:children] ; both\neast\n', '4:1'],
  ['db-1 ansible_host=192.0.2.11 ansible_user=root\ndb-2\n', '1:1'],
  ['---\nall:\n  children:\n    rpc: { hosts: { rpc-1: } }\n', '2:1'],
])('an inventory of Ansible is called that: %j', async (content, place) => {
  const said = `this is an inventory of Ansible, and not one of rpc-playbooks
  make one with init, or copy inventory/testnet.yaml; docs/from-ansible.md says what goes where`;
  expect(await complaints({ 'a.yaml': content })).toEqual([`a.yaml:${place}: ${said}`]);
  const here = await write({ 'hosts.ini': content });
  const ini = await loadInventory(join(here, 'hosts.ini'), schema, { folder: here }).catch(describeProblem);
  expect(ini).toContain(`hosts.ini:${place}: ${said}`);
});

test.each(['[groups.rpc]\nrpc-1 = { address = "192.0.2.11" }\n', 'name = "main"\n'])(
  'an inventory in TOML is called that: %j',
  async (content) => {
    const said = `main.toml: this is TOML, and an inventory is YAML
  write it as YAML: inventory/testnet.yaml is an example, and init makes one`;
    const files = { 'main.toml': content, 'a.yaml': `vars_files: [main.toml]\n${good}` };
    expect(await complaints(files)).toEqual([said]);
    const here = await write(files);
    const named = loadInventory(join(here, 'main.toml'), schema, { folder: here }).catch(describeProblem);
    expect(await named).toContain(said);
  },
);

test('a file of the working directory is not taken for the name of an inventory', async () => {
  await expect(loadInventory('package.json', schema, { folder })).rejects.toMatchObject({
    hint: 'for the file of this name: --inventory ./package.json',
  });
});

test('a key all beside groups is only an unknown one', async () => {
  expect(await complaints({ 'a.yaml': `${good}all: {}\n` })).toEqual([
    'a.yaml:6:1: unknown key all\n  known: vars_files, ssh, vars, groups',
  ]);
});

test('a list of hosts instead of an inventory', async () => {
  await expect(loadInventory('10.0.0.1,', schema)).rejects.toThrow(
    '"10.0.0.1," is a list of hosts, and an inventory is a file',
  );
});

test('a symbolic link that leads to itself', async () => {
  const here = await write({});
  const link = join(here, 'loop.yaml');
  await symlink('loop.yaml', link);
  await expect(loadInventory(link, schema)).rejects.toThrow(
    `inventory ${link} is a symbolic link that leads to itself`,
  );
  await expect(loadInventory(`${link}/a.yaml`, schema)).rejects.toThrow(
    'is a symbolic link that leads to itself',
  );
});

test('a device or a large file is not read', async () => {
  const here = await write({ 'large.yaml': `${good}# ${'x'.repeat(2 ** 20)}\n` });
  const refusal = (file: string) =>
    loadInventory(file, schema).catch((error: Error) => describeProblem(error as Problem));
  expect(await refusal('/dev/zero')).toBe('/dev/zero: this is not a file');
  expect(await refusal(join(here, 'large.yaml'))).toMatch(
    /large\.yaml: this file is \d+ bytes long: that is no inventory$/,
  );
});

test('host names are taken as written, also if YAML reads a number or null', async () => {
  const here = await write({
    'a.yaml': good.replace('rpc-1: {', '0x10: { address: a }, 1.0: { address: b }, null: {'),
  });
  const { hosts } = await loadInventory(join(here, 'a.yaml'), schema);
  expect(hosts.map(({ name }) => name)).toEqual(['db-1', '0x10', '1.0', 'null']);
});

test('an anchor that is defined again applies from there on', () => {
  const { entries } = parseYaml('a: &x { b: &y 1 }\nc: &y 2\nd: *x\ne: *y\n', 'a.yaml');
  expect(entries.get('e')?.value).toMatchObject({ value: 2, at: { line: 4, column: 4 } });
  expect(() => parseYaml('a: *x\nb: &x 1\n', 'a.yaml')).toThrow('no anchor &x is before this');
});

test.each(['a: &x [*x]', 'a: &x\n  <<: *x', 'a: &x 1\nb: &x [*x]'])(
  'an anchor inside of its own value is refused: %j',
  (text) => expect(() => parseYaml(text, 'a.yaml')).toThrow('repeats itself through its anchors'),
);

test('a file of many lines is parsed quickly', async () => {
  const lines = Array.from({ length: 10_000 }, (_, i) => `k${i}: *x`);
  const text = `k: &x 1\n${lines.join('\n')}\n`;
  expect(await cpuSeconds(() => expect(parseYaml(text, 'a.yaml').entries.size).toBe(10_001))).toBeLessThan(2);
});

test('names of JavaScript properties are unknown keys', async () => {
  for (const key of ['__proto__', 'constructor', 'toString']) {
    expect(await complaints({ 'a.yaml': v(`  ${key}: { a: 1 }`) })).toEqual([
      expect.stringContaining(`a.yaml:3:3: unknown key ${key}`),
    ]);
  }
});

test('anchors that multiply without end are refused', async () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 9; i++)
    lines.push(`a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(', ')}]`);
  expect((await complaints({ 'a.yaml': `${lines.join('\n')}\n` }))[0]).toContain(
    'nested too deeply or repeats itself',
  );
});

test('too many hosts times variables are refused before they are checked', async () => {
  const hosts = Array.from({ length: 1001 }, (_, i) => `    h${i}: { address: a${i} }`);
  const text = `groups:\n  rpc:\n${hosts.join('\n')}\nvars:\n  many: [${Array(2000).fill(1).join(',')}]\n`;
  expect(await complaints({ 'a.yaml': text })).toEqual([
    'a.yaml:1004:1: 1001 hosts with 2000 variables each are too much for one inventory',
  ]);
});

test('a missing inventory', async () => {
  const here = await write({ 'mainnet.yaml': good });
  await expect(loadInventory('mainet', schema, { folder: here })).rejects.toMatchObject({
    hint: 'did you mean mainnet?',
    code: 3,
  });
  const others = {
    'docker-compose.yaml': 'services: {}\n',
    'vars.yaml': 'region: x\n',
    'one.yaml': '{\n "groups": {} }',
  };
  const there = await write({ ...others, 'mainnet.yaml': good });
  await mkdir(join(there, 'folder.yaml'));
  await symlink('nowhere', join(there, 'dangling.yaml'));
  await expect(loadInventory('x', schema, { folder: there })).rejects.toMatchObject({
    hint: 'known: mainnet, one',
  });
  await expect(loadInventory(join(here, 'x.yaml'), schema)).rejects.toThrow('does not exist');
  const meant = { hint: `did you mean --inventory ${join(here, 'mainnet.yaml')}?` };
  await expect(loadInventory('mainnet.yaml', schema, { folder: here })).rejects.toMatchObject(meant);
  await expect(loadInventory(join(here, 'mainnet'), schema)).rejects.toMatchObject(meant);
  const other = await write({ 'mainnet.yml': good });
  await expect(loadInventory('mainnet', schema, { folder: other })).rejects.toMatchObject({
    hint: `did you mean --inventory ${join(other, 'mainnet.yml')}?`,
  });
  await expect(loadInventory('', schema, { folder: here })).rejects.toThrow(
    'there is no inventory called ""',
  );
  await expect(loadInventory(here, schema)).rejects.toThrow('is a folder');
});

test('a damaged file is read or refused, and never causes a crash', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '\n',
      '  ',
      '\t',
      ': ',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '&a',
      '*a',
      '<<: ',
      '|',
      '>',
      '"',
      "'",
      '#',
      '---',
      '? ',
      '!!x ',
      '%',
      '\0',
      '\uFEFF',
      '...',
    ),
    fc.string({ unit: anyCharacter, maxLength: 3 }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(good.length), fc.nat(6), piece), { minLength: 1, maxLength: 4 }),
      (edits) => {
        const text = edits.reduce(
          (all, [at, cut, put]) => all.slice(0, at) + put + all.slice(at + cut),
          good,
        );
        try {
          parseYaml(text, 'a.yaml');
        } catch (error) {
          expect(error instanceof Problem || error instanceof Problems).toBe(true);
        }
      },
    ),
    { numRuns: 150 },
  );
});

test.each(['a;b', '$(touch x)', '`x`', 'a b', '-oProxyCommand=x', 'a|b', "a'b"])(
  'a user or a jump host with characters that a shell interprets is refused: %s',
  async (name) => {
    const text = JSON.stringify(name);
    for (const [key, words] of [
      ['user', 'must be a user name'],
      ['jump', 'must be a jump host'],
    ]) {
      expect((await complaints({ 'a.yaml': `ssh: { ${key}: ${text} }\n${good}` })).join('\n')).toContain(
        words,
      );
    }
  },
);

test.each(['a@b:99999', 'b:0', '[::zz]', '[::zz]:22'])('a jump host that cannot be one: %s', async (jump) => {
  const [complaint] = await complaints({ 'a.yaml': `ssh: { jump: ${JSON.stringify(jump)} }\n${good}` });
  expect(complaint).toContain('must be a jump host, user@host:port, with a port from 1 to 65535');
});

test('many placeholders are reported quickly', async () => {
  const open = Array.from({ length: 5000 }, (_, i) => `  k${i}: <FILL>`).join('\n');
  const reads = async () => expect((await complaints({ 'a.yaml': v(open) })).length).toBeGreaterThan(1);
  expect(await cpuSeconds(reads)).toBeLessThan(5);
});

describe('missing key files', () => {
  const refusal = async (ssh: string, hosts = good, connects = true) => {
    const here = await write({ 'a.yaml': `${ssh}\n${hosts}`, id: '', known: '' });
    await mkdir(join(here, 'keys'));
    const error = await loadInventory(join(here, 'a.yaml'), schema, { connects }).catch(
      (error: unknown) => error,
    );
    return error instanceof Problems
      ? error.problems.map((problem) => describeProblem(problem).replaceAll(`${here}/`, ''))
      : [];
  };
  const known =
    'known_hosts: konwn does not exist\n  the path is relative to the inventory; without known_hosts, your own is used';
  const identity = (what: string) =>
    `identity_file: ${what}\n  the path is relative to the inventory; without identity_file, the keys of your ssh_config and agent are tried`;

  test('are refused, each once, if hosts are connected to', async () => {
    expect(await refusal('ssh: { identity_file: ide, known_hosts: konwn }')).toEqual([
      `a.yaml:1:23: ${identity('ide does not exist')}`,
      `a.yaml:1:41: ${known}`,
    ]);
    expect(await refusal('ssh: { identity_file: keys }')).toEqual([
      `a.yaml:1:23: ${identity('keys is a folder')}`,
    ]);
    expect(await refusal('ssh: { identity_file: /dev/zero }')).toEqual([
      `a.yaml:1:23: ${identity('/dev/zero is not a file')}`,
    ]);
    expect(await refusal('ssh: { identity_file: ~/no-such-key }')).toEqual([
      expect.stringMatching(/^a\.yaml:1:23: identity_file: .*[^~]\/no-such-key does not exist\n/),
    ]);
    const own = good.replace('address: 10.0.0.2', 'address: 10.0.0.2, known_hosts: konwn');
    expect(await refusal('ssh: { known_hosts: known }', own)).toEqual([`a.yaml:6:51: ${known}`]);
  });

  test('a private key that others may read is refused, as ssh refuses it, and a public one is not', async () => {
    const { private: text, public: publicText } = newKeyPair('ed25519');
    const at = async (content: string, mode: number) => {
      const here = await write({ 'a.yaml': `ssh: { identity_file: id }\n${good}`, id: content });
      await chmod(join(here, 'id'), mode);
      const error = await loadInventory(join(here, 'a.yaml'), schema, { connects: true }).catch(
        (error: unknown) => error,
      );
      return error instanceof Problems
        ? error.problems.map((problem) => describeProblem(problem).replaceAll(`${here}/`, ''))
        : [];
    };
    const refused = (mode: string) => [
      `a.yaml:1:23: identity_file: id has mode ${mode}; a private key must be 0600 or stricter\n  chmod 600 id`,
    ];
    expect(await at(text, 0o644)).toEqual(refused('0644'));
    expect(await at(text, 0o640)).toEqual(refused('0640'));
    expect(await at(text, 0o600)).toEqual([]);
    expect(await at(text, 0o400)).toEqual([]);
    expect(await at(publicText, 0o644)).toEqual([]);
  });

  test('are accepted if no host is connected to with them', async () => {
    expect(await refusal('ssh: { identity_file: id, known_hosts: known }')).toEqual([]);
    expect(await refusal('ssh: { identity_file: ide, known_hosts: konwn }', good, false)).toEqual([]);
    const local = good.replace(/ {2}rpc:.*\n/, '').replaceAll('address:', 'connection: local, address:');
    expect(await refusal('ssh: { identity_file: ide, known_hosts: konwn }', local)).toEqual([]);
    const own = good.replaceAll('address:', 'known_hosts: known, address:');
    expect(await refusal('ssh: { known_hosts: konwn }', own)).toEqual([]);
  });
});

test('a number on the command line in place of text needs quotes inside those of the shell', async () => {
  const here = await write({ 'a.yaml': good });
  const over = [{ values: { region: 7 }, from: '--set region' }];
  await expect(loadInventory(join(here, 'a.yaml'), schema, { over })).rejects.toThrow(
    `--set region: region must be text, not a whole number\n  put the value in quotes, '"…"' (the shell takes the outer ones): as a number it loses`,
  );
});

test('the caller may add a hint about a missing file', async () => {
  const here = await write({
    'a.yaml': `vars_files: [made/vars.yaml]\nssh: { known_hosts: made/known_hosts }\n${good}`,
  });
  const missingFileHint = (path: string) => (path.includes('made/') ? 'make all' : undefined);
  await expect(
    loadInventory(join(here, 'a.yaml'), schema, { connects: true, missingFileHint }),
  ).rejects.toMatchObject({
    problems: [
      { message: expect.stringMatching(/made\/vars\.yaml does not exist$/), hint: 'make all' },
      {
        message: expect.stringMatching(/^known_hosts: .*made\/known_hosts does not exist$/),
        hint: 'make all',
      },
    ],
  });
});

test('a missing variable is reported at the inventory, although --set has other variables', async () => {
  const here = await write({
    'a.yaml': good.replace(/network: .*/, '{}').replace('vars:\n  {}', 'vars: {}'),
  });
  const over = [{ values: { loud: true }, from: '--set loud' }];
  await expect(loadInventory(join(here, 'a.yaml'), schema, { over })).rejects.toThrow(
    /a\.yaml:1:1: network is missing/,
  );
});

test('none is the word for no jump host, and no jump host among others', async () => {
  const jumping = (jump: string) =>
    good.replace('{ address: 10.0.0.2 }', `{ address: 10.0.0.2, jump: ${jump}, client: openssh }`);
  const here = await write({ 'a.yaml': `ssh: { jump: bastion }\n${jumping('none')}` });
  const { hosts } = await loadInventory(join(here, 'a.yaml'), schema);
  expect(hosts.map(({ connection: { jump, client } }) => ({ jump, client }))).toEqual([
    { jump: ['bastion'], client: undefined },
    { jump: ['none'], client: 'openssh' },
  ]);
  expect(await complaints({ 'a.yaml': jumping('[none, bastion]') })).toEqual([
    expect.stringMatching(/jump must be jump hosts, or the word none alone, without a list$/),
  ]);
});
