import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { standInFor, temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { describeProblem, Problem, Problems } from '../../engine/problem/problem.ts';
import { loadPlan, makePlan, refuseOtherInventory, savePlan } from '../../engine/run/saved-plan.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';

const page = readFileSync(
  fileURLToPath(new URL('../../../docs/machines-from-elsewhere.md', import.meta.url)),
  'utf8',
);
const block = (language: string) =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? '';

/** The lab, whose RPC servers a command names. The command prints the text, and counts its runs. */
async function asked(text: string, changes: Changes = []) {
  const runs = join(temporaryDirectory(), 'runs');
  const json = `${runs}.json`;
  writeFileSync(json, text);
  const command = `cmd:echo >>${runs}; cat ${json}`;
  const file = await labDeployment([[['groups', 'rpc'], { hosts: command }], ...changes]);
  return { file, command, ran: () => (existsSync(runs) ? readFileSync(runs, 'utf8').length : 0) };
}

async function complaints(file: string): Promise<string[]> {
  const error = await loadDeployment(file).then(
    () => new Problems([]),
    (thrown) => thrown,
  );
  const problems = error instanceof Problem ? [error] : (error as Problems).problems;
  return problems.map((problem) => describeProblem(problem).replaceAll(`${dirname(file)}/`, ''));
}

test('the example of the page works, with a stand-in for OpenTofu', async () => {
  standInFor(
    'tofu',
    `[ "$*" = '-chdir=../infrastructure output -json rpc' ] || exit 9\ncat <<'EOT'\n${block('json')}EOT`,
  );
  const { database, ...groups } = parse(block('yaml')).groups;
  expect(Object.keys(database)).toEqual(['db-1']);
  const file = await labDeployment([[['groups', 'rpc'], groups.rpc]]);
  const { hosts } = await loadDeployment(file);
  expect(
    hosts.map(({ name, connection, vars }) => [name, connection.address, vars.region, vars.verify.attempts]),
  ).toEqual([
    ['db-1', '172.30.77.11', 'lab-1', 30],
    ['rpc-1', '10.0.0.21', 'singapore', 60],
    ['rpc-2', '10.0.0.22', 'frankfurt', 60],
  ]);
});

test("hosts of a command may be in groups of one's own, beside hosts of the file", async () => {
  const { file, ran } = await asked('{"rpc-1": {"address": "10.0.0.21"}}', [
    [['groups', 'rpc', 'rpc-7'], { address: '10.0.0.27' }],
    [['groups', 'large'], { 'rpc-1': null, vars: { verify: { attempts: 9 } } }],
  ]);
  const { hosts } = await loadDeployment(file);
  expect(hosts.map(({ name, vars }) => [name, vars.verify.attempts]).slice(1)).toEqual([
    ['rpc-7', expect.any(Number)],
    ['rpc-1', 9],
  ]);
  expect(ran()).toBe(1);
});

const host = '"rpc-1": { "address": "10.0.0.21" }';
test.each<[string, string, string | RegExp]>([
  [
    'a wrong address',
    '{\n  "rpc-1": { "address": "10.0.0.256" }\n}',
    'COMMAND:2:25: groups.rpc.rpc-1.address must be an IPv4 address of four numbers, each at most 255',
  ],
  [
    'an unknown key',
    `{ ${host.replace(' }', ', "prt": 1 }')} }`,
    'COMMAND:1:38: unknown key groups.rpc.rpc-1.prt\n  did you mean port?',
  ],
  [
    'an unknown variable',
    `{ ${host.replace(' }', ', "vars": { "prots": 1 } }')} }`,
    /^COMMAND:1:\d+: unknown key prots\n {2}did you mean ports\?$/,
  ],
  [
    'a host twice',
    `{ ${host}, ${host} }`,
    'COMMAND:1:40: this key is defined a second time\n  keep one of the two',
  ],
  [
    'a host of another group',
    '{ "db-1": { "address": "10.0.0.21" } }',
    /COMMAND:1:3: host db-1 is defined a second time/,
  ],
  ['a host called vars', `{ ${host}, "vars": {} }`, 'COMMAND:1:40: no host can be called vars'],
  [
    'a reference to a secret',
    `{ ${host.replace(' }', ', "vars": { "region": "cmd:touch x" } }')} }`,
    /COMMAND:1:\d+: rpc-1\.vars\.region is a reference to a secret, in the output of a command/,
  ],
  [
    'this machine',
    `{ ${host.replace(' }', ', "connection": "local" }')} }`,
    'COMMAND:1:52: rpc-1.connection makes this machine a host, in the output of a command\n  write this host in the inventory',
  ],
  [
    'a key file',
    `{ ${host.replace(' }', ', "identity_file": "~/.ssh/other" }')} }`,
    'COMMAND:1:55: rpc-1.identity_file names a file of this machine, in the output of a command\n  identity_file has its place under ssh in the inventory',
  ],
  [
    'a file of host keys',
    `{ ${host.replace(' }', ', "known_hosts": "/dev/null" }')} }`,
    /COMMAND:1:53: rpc-1\.known_hosts names a file of this machine, in the output of a command/,
  ],
  [
    'a list',
    '["10.0.0.21"]',
    /groups\.rpc\.hosts: the command .* does not print a JSON object\n {2}it names hosts/,
  ],
  ['nothing', '', /does not print a JSON object/],
  [
    'YAML',
    'rpc-1: { address: 10.0.0.21 }',
    'COMMAND:1:1: groups.rpc.hosts: the output is not JSON: "r" stands here\n  the command must print one JSON object, and nothing else, on standard output: { "rpc-1": { "address": "10.0.0.21" } }',
  ],
  [
    'a warning before the JSON',
    `Warning: hunter2\n{ ${host} }`,
    /^COMMAND:1:1: groups\.rpc\.hosts: the output is not JSON: "W" stands here\n(?!.*hunter2)/,
  ],
  ['cut JSON', `{\n  ${host},`, /^COMMAND:2:39: groups\.rpc\.hosts: the output is not JSON: it ends here\n/],
  ['no host', '{}', /group rpc has no host/],
])('%s in the output is refused at its place', async (_, text, expected) => {
  const { file, command } = await asked(text);
  const said = (await complaints(file)).map((line) =>
    line.replaceAll(/lab\.yaml:\d+:\d+: (?=cmd:)/g, '').replaceAll(command, 'COMMAND'),
  );
  expect(said).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)]);
});

test.each([
  ['/srv/manifest.json', true],
  ['s3://bucket/folder/manifest.json', false],
])('the manifest %s in the output is refused where it is a path', async (manifest, isRefused) => {
  const vars = { snapshot: { manifest } };
  const { file } = await asked(JSON.stringify({ 'rpc-1': { address: '10.0.0.21', vars } }), [
    [['vars_files'], undefined],
    [['vars', 'network', 'genesis', 'sha256'], 'a'.repeat(64)],
    [['vars', 'snapshot'], { manifest: 'manifest.json', from: '/srv/snapshots' }],
  ]);
  const said = (await complaints(file)).join('\n');
  const refused = /:1:64: snapshot\.manifest names a file of this machine, in the output of a command\n/;
  expect(refused.test(said), said).toBe(isRefused);
  if (isRefused) expect(said).toContain('name the file in the vars of the group, in the inventory');
});

test('a byte order mark at the beginning of the output is ignored', async () => {
  const { file } = await asked(`\uFEFF{ ${host} }`);
  const { hosts } = await loadDeployment(file);
  expect(hosts.map(({ name }) => name)).toEqual(['db-1', 'rpc-1']);
});

test('a command of several lines is named by its first one, behind its place in the inventory', async () => {
  const wrong = `set -e\necho '{ "rpc-1": { "adress": 1 } }'\n`;
  const file = await labDeployment([[['groups', 'rpc'], { hosts: `cmd:${wrong}` }]]);
  const place = String.raw`lab\.yaml:\d+:\d+`;
  expect(await complaints(file)).toEqual([
    expect.stringMatching(
      new RegExp(`^${place}: cmd:set -e…:1:3: groups\\.rpc\\.rpc-1\\.address is missing`),
    ),
    expect.stringMatching(
      new RegExp(`^${place}: cmd:set -e…:1:14: unknown key groups\\.rpc\\.rpc-1\\.adress`),
    ),
  ]);
  const failing = await labDeployment([[['groups', 'rpc'], { hosts: 'cmd:set -e\nexit 3\n' }]]);
  expect(await complaints(failing)).toEqual([
    expect.stringMatching(new RegExp(`^${place}: groups\\.rpc\\.hosts: the command set -e… ended with 3\n`)),
  ]);
});

test.each([
  ['ends with an error', 'echo no state >&2; echo hunter2; exit 3', 'ended with 3: no state'],
  ['prints too much', 'yes', 'prints more than 262144 bytes'],
])('a command that %s is refused with its own words', async (_, command, said) => {
  const file = await labDeployment([[['groups', 'rpc'], { hosts: `cmd:${command}` }]]);
  const lines = await complaints(file);
  expect(lines).toEqual([
    expect.stringMatching(
      /^lab\.yaml:\d+:\d+: groups\.rpc\.hosts: the command [\s\S]*it must print a JSON object of hosts/,
    ),
  ]);
  expect(lines[0]).toContain(`the command ${command} ${said}`);
});

test.each<[string, Changes]>([
  ['a wrong variable', [[['vars', 'network', 'kind'], 'prod']]],
  ['an unknown key', [[['groups', 'rpc', 'vars'], { prots: 1 }]]],
  ['a secret that is missing', [[['vars', 'network', 'l1_rpc_url'], 'env:NOT_SET_ANYWHERE']]],
  ['a placeholder', [[['vars', 'network', 'l1_rpc_url'], '<FILL: it>']]],
])('the command does not run for an inventory with %s', async (_, changes) => {
  const { file, ran } = await asked(`{ ${host} }`, changes);
  expect(await complaints(file)).toHaveLength(1);
  expect(ran()).toBe(0);
});

test('a host that its group names, too, is refused', async () => {
  const { file } = await asked(`{ ${host} }`, [[['groups', 'rpc', 'rpc-1'], { address: '10.0.0.22' }]]);
  expect((await complaints(file)).join()).toContain('host rpc-1 is named by group rpc in the inventory, too');
});

test('a command that is none is refused', async () => {
  const file = await labDeployment([[['groups', 'rpc'], { hosts: 'tofu output' }]]);
  expect(await complaints(file)).toEqual([
    expect.stringMatching(/groups\.rpc\.hosts must be cmd:COMMAND, a shell command of this machine/),
  ]);
});

test('a saved plan holds what the command printed, and a run that follows it does not ask', async () => {
  const { file, ran } = await asked(`{ ${host} }`);
  const inventory = await loadDeployment(file);
  const chosen = { roles: [], skippedRoles: [], set: [], assumedStopped: [], own: {} };
  const hosts = [{ host: 'rpc-1', tasks: [] }];
  const saved = join(temporaryDirectory(), 'plan.json');
  savePlan(makePlan(hosts, { playbook: 'deploy', chosen, inventory }, 0), saved);
  const plan = await loadPlan(saved);
  expect(plan.inventory.said).toEqual({ rpc: `{ ${host} }` });
  expect(ran()).toBe(1);
  appendFileSync(file, '\n');
  const again = await loadDeployment(file, { said: plan.inventory.said ?? {} });
  expect(again.hosts.map(({ name }) => name)).toEqual(['db-1', 'rpc-1']);
  refuseOtherInventory(plan, again);
  expect(ran()).toBe(1);
});
