import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { describePlace, describeProblem, Problem, Problems } from '../problem/problem.ts';
import { loadInventory } from './load.ts';
import { selectHosts } from './pattern.ts';

const schema = z.strictObject({
  url: z.string().default('none'),
  ports: z.strictObject({ http: z.int().optional(), metrics: z.int().optional() }).prefault({}),
  servers: z.array(z.string()).default([]),
  region: z.string().optional(),
  token: z.string().optional(),
});

function written(text: string): string {
  const file = join(temporaryDirectory(), 'a.yaml');
  writeFileSync(file, text);
  return file;
}

const load = (text: string) => loadInventory(written(text), schema);

async function complaints(text: string): Promise<string[]> {
  const file = written(text);
  const error = await loadInventory(file, schema).then(
    () => new Problems([]),
    (thrown) => thrown,
  );
  const problems = error instanceof Problem ? [error] : (error as Problems).problems;
  return problems.map((problem) => describeProblem(problem).replaceAll(file, 'a.yaml'));
}

test('variables of a group are over those of all hosts, and below those of the host', async () => {
  const inventory = await load(`vars: { url: all, ports: { http: 1, metrics: 1 } }
groups:
  rpc:
    vars: { url: group, ports: { http: 2 }, servers: [group] }
    one: { address: 10.0.0.1 }
    two: { address: 10.0.0.2, vars: { ports: { http: 3 } } }
  other: { three: { address: 10.0.0.3 } }
`);
  expect(inventory.hosts.map(({ name, groups, vars }) => [name, groups, vars])).toEqual([
    ['one', ['rpc'], { url: 'group', ports: { http: 2, metrics: 1 }, servers: ['group'] }],
    ['two', ['rpc'], { url: 'group', ports: { http: 3, metrics: 1 }, servers: ['group'] }],
    ['three', ['other'], { url: 'all', ports: { http: 1, metrics: 1 }, servers: [] }],
  ]);
  expect(inventory.placeOf('one', ['ports', 'http'])).toMatchObject({ line: 4, column: 40 });
  expect(inventory.hostsWith('one', ['url'])).toEqual(['one', 'two']);
  expect(inventory.hostsWith('two', ['ports', 'http'])).toEqual(['two']);
  expect(inventory.hostsWith('three', ['url'])).toBeUndefined();
});

test('hosts of the children of a group are its own, and a child is over its parent, at any depth', async () => {
  const inventory = await load(`groups:
  far: { one: { address: 10.0.0.1 }, vars: { url: far } }
  rpc: { children: [asia], vars: { url: rpc, token: rpc } }
  asia: { children: [far], two: { address: 10.0.0.2 }, vars: { url: asia, region: asia } }
`);
  expect(inventory.hosts.map(({ name, groups, vars }) => [name, groups, vars.url, vars.region])).toEqual([
    ['one', ['far', 'rpc', 'asia'], 'far', 'asia'],
    ['two', ['rpc', 'asia'], 'asia', 'asia'],
  ]);
  const names = (pattern: string) => selectHosts(inventory, pattern).map(({ name }) => name);
  expect([names('rpc'), names('asia'), names('far'), names('rpc,!far')]).toEqual([
    ['one', 'two'],
    ['one', 'two'],
    ['one'],
    ['two'],
  ]);
  expect(inventory.placeOfGroup('rpc', 'one', 'address')).toMatchObject({ line: 2, column: 17 });
});

/** Two groups that both have the host `one`. */
const both = (a: string, b: string, more = '') => `groups:
  a: { one: { address: 10.0.0.1${more} }, vars: ${a} }
  b: { one: , vars: ${b} }
`;
const conflict =
  'a.yaml:3:28: url of one differs between its groups: b sets it here, and a at a.yaml:2:49\n  set it in the vars of one; or say which group counts: name b in the children of a, and b is over it';

describe('two groups, neither within the other,', () => {
  test('that give a host different values are refused with both places', async () => {
    expect(await complaints(both('{ url: x }', '{ url: y }'))).toEqual([conflict]);
  });

  test.each([
    ['the values are equal', both('{ url: x, servers: [a] }', '{ servers: [a], url: x }')],
    ['they have different keys', both('{ ports: { http: 1 } }', '{ ports: { metrics: 1 } }')],
    ['the host has its own', both('{ url: x }', '{ url: y }', ', vars: { url: z }')],
    [
      'the host has its own mapping',
      both('{ ports: { http: 1 } }', '{ ports: { http: 2 } }', ', vars: { ports: { http: 3 } }'),
    ],
    ['the host has its own region', both('{ region: x }', '{ region: y }', ', region: z')],
    [
      'a group within both has it',
      `${both('{ url: x }', '{ url: y }')}  c: { one: , vars: { url: z } }\n`
        .replace('a: {', 'a: { children: [c], ')
        .replace('b: {', 'b: { children: [c], '),
    ],
    [
      'the group within one of them agrees with the other',
      `${both('{ url: x }', '{ url: y }')}  c: { one: , vars: { url: y } }\n`.replace(
        'a: {',
        'a: { children: [c], ',
      ),
    ],
  ])('are accepted where %s', async (_, text) => {
    expect(await complaints(text)).toEqual([]);
  });

  test.each([
    ['a value and a mapping', both('{ ports: { http: 1 } }', '{ ports: 1 }'), 'ports of one differs'],
    ['lists', both('{ servers: [a, b] }', '{ servers: [b, a] }'), 'servers of one differs'],
    [
      'a key in a mapping',
      both('{ ports: { http: 1 } }', '{ ports: { http: 2 } }', ', vars: { ports: { metrics: 3 } }'),
      'ports.http of one differs',
    ],
  ])('may not differ in %s', async (_, text, said) => {
    expect((await complaints(text)).join('\n')).toContain(said);
  });

  test('are refused once for all of their hosts', async () => {
    const hosts = Array.from({ length: 9 }, (_, i) => `h${i}: { address: 10.0.0.${i + 1} }`).join(', ');
    const names = hosts.replaceAll(/\{[^}]*\}/g, '');
    const said = await complaints(
      `groups:\n  a: { ${hosts}, vars: { url: x } }\n  b: { ${names}, vars: { url: y } }\n`,
    );
    expect(said).toEqual([
      expect.stringContaining('url of h0 and 8 more of its hosts differs between its groups'),
    ]);
  });

  test('may be overridden from the command line', async () => {
    const file = written(both('{ url: x }', '{ url: y }'));
    const { hosts } = await loadInventory(file, schema, {
      over: [{ values: { url: 'z' }, from: '--set url' }],
    });
    expect(hosts[0]?.vars.url).toBe('z');
  });
});

const one = 'one: { address: 10.0.0.1 }';
test.each([
  [
    'a group called all',
    `all: { ${one} }`,
    'a.yaml:2:3: no group can be called all: in a host pattern that means all hosts\n  give it another name; variables of all hosts are under vars, beside groups',
  ],
  ...['a:b', 'a,b', '"!a"', '"&a"', '"~a"', '"*"', '"a[0]"', '"@a"'].map((name) => [
    `a group called ${name}`,
    `${name}: { ${one} }`,
    `a.yaml:2:3: groups.${name.replaceAll('"', '')}: the name must start with a letter or digit and hold only letters, digits, . _ -`,
  ]),
  [
    'a child that does not exist',
    `a: { children: [c], ${one} }`,
    'a.yaml:2:19: groups.a.children names c, and there is no such group\n  did you mean b?',
  ],
  [
    'a host as a child',
    `a: { children: [one], ${one} }`,
    'a.yaml:2:19: groups.a.children names one, and there is no such group\n  one is a host: write it as a key of a, one:',
  ],
  [
    'itself as a child',
    `a: { children: [a], ${one} }`,
    'a.yaml:2:19: group a cannot be a child of itself\n  leave one of the two out of children',
  ],
  [
    'a circle',
    `a: { children: [b], ${one} }\n  b: { children: [a] }`,
    'a.yaml:3:19: group a cannot be a child of b, which is within a\n  leave one of the two out of children',
  ],
  [
    'children that are no list',
    `a: { children: b, ${one} }`,
    'a.yaml:2:18: groups.a.children must be a list, not text',
  ],
  ['no children', `a: { children: [], ${one} }`, 'a.yaml:2:18: groups.a.children must have at least 1 in it'],
  [
    'variables that are no mapping',
    `a: { vars: [x], ${one} }`,
    'a.yaml:2:14: groups.a.vars must be a mapping, not a list',
  ],
  [
    'a variable that does not exist',
    `a: { vars: { urls: x }, ${one} }`,
    'a.yaml:2:16: unknown key urls\n  did you mean url?',
  ],
  [
    'a variable that is not filled in',
    `a: { vars: { url: '<FILL: it>' }, ${one} }`,
    'a.yaml:2:21: url is not filled in\n  fill in: it',
  ],
  [
    'a wrong value for no host',
    `a: { vars: { url: 1 }, children: [b] }`,
    "a.yaml:2:21: url must be text, not a whole number\n  put the value in quotes, '…': as a number it loses zeros in front and digits after the sixteenth",
  ],
  [
    'variables for nobody',
    `a: { vars: { url: x } }`,
    'a.yaml:2:14: group a has variables and no host\n  name its hosts or its children, or leave it out',
  ],
  [
    'a host called vars',
    'a: { vars: { address: 10.0.0.1 } }',
    'a.yaml:2:16: unknown key address\n  known: url, ports, servers, region, token',
  ],
])('%s is refused', async (_, groups, said) => {
  const text = `groups:\n  ${groups}\n${groups.includes('\n') ? '' : '  b: {}\n'}`;
  expect(await complaints(text)).toContain(said);
});

test('every place that gives a variable is known, the one that counts first, and no key in an address', async () => {
  const file = written(`vars: { url: 'https://l1.example/v3/0123456789abcdef', token: abcdef }
groups:
  rpc:
    vars: { url: 'https://user:pw@other.example:8545/key?x=y' }
    one: { address: 10.0.0.1, vars: { servers: ['http://a/', 'http://b/key'] } }
`);
  const { sourcesOf } = await loadInventory(file, schema);
  const lines = sourcesOf('one', []).map(({ name, isOwn, sources }) => [
    name,
    isOwn,
    ...sources.map(({ of, where, shown }) => `${of} ${describePlace(where).replace(file, '')} ${shown}`),
  ]);
  expect(lines).toEqual([
    ['url', true, 'group rpc :4:18 https://other.example:8545/…', 'vars :1:14 https://l1.example/…'],
    ['token', false, 'vars :1:63 [secret]'],
    ['servers', true, 'host one :5:48 ["http://a/","http://b/…"]'],
  ]);
});

test('the outputs of a whole configuration are refused in its own words, not as hosts', async () => {
  const output = '{"rpc":{"sensitive":false,"type":"string","value":{"a":{"address":"10.0.0.8"}}}}';
  expect(await complaints(`groups:\n  rpc:\n    hosts: cmd:echo '${output}'\n`)).toEqual([
    `a.yaml:3:12: groups.rpc.hosts: the command echo '${output}' prints all outputs, not the hosts\n  name the one with the hosts: tofu output -json NAME`,
  ]);
});
