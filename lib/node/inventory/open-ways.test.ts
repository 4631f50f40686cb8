import { expect, test } from 'vitest';
import { describeProblem } from '../../engine/problem/problem.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';
import { openWays } from './open-ways.ts';

const warnings = async (changes: Changes) =>
  ((await loadDeployment(await labDeployment(changes))).warnings ?? []).map(describeProblem);

const said = async (changes: Changes) =>
  (await warnings(changes)).map((text) => text.replace(/^\S+:\d+:\d+: /, ''));

test.each([
  ['0.0.0.0/0', true],
  ['::/0', true],
  ['128.0.0.0/1', true],
  ['10.0.0.0/7', true],
  ['10.0.0.0/8', false],
  ['192.0.2.7', false],
  ['2a00::/12', true],
  ['2001:db8::/31', true],
  ['2001:db8::/32', false],
  ['fd00::/8', false],
])('databases that are open to everybody are a warning, once: %s', async (network, warns) => {
  expect(await said([[['vars', 'firewall'], { internal: ['10.0.0.0/8', network] }]])).toEqual(
    warns
      ? [
          `firewall.internal has ${network}: everybody may connect to the databases and provers\n  name the networks of your own machines; the hosts of the inventory are let in without it`,
        ]
      : [],
  );
});

const monitor: Changes[number] = [
  ['groups', 'monitor'],
  { 'mon-1': { address: '10.0.0.9', host_key: undefined } },
];
const everybody = ['0.0.0.0/0'];

test.each<[string, Changes, string[]]>([
  [
    'what one host may reach',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { firewall: { connects_from: everybody } }]],
    [
      'firewall.connects_from has 0.0.0.0/0: everybody may connect to what the other hosts open to this one, such as databases and metrics\n  name the addresses that this host itself connects from',
    ],
  ],
  [
    'metrics',
    [[['vars', 'firewall'], { metrics: everybody }]],
    [
      'firewall.metrics has 0.0.0.0/0: everybody may read the metrics of nodes and gateways\n  name the servers that read metrics; the monitor is let in without it',
    ],
  ],
  [
    'exporters',
    [[['vars', 'monitoring'], { scrape_from: everybody }]],
    [
      'monitoring.scrape_from has 0.0.0.0/0: everybody may read the metrics of all hosts\n  name your own Prometheus servers',
    ],
  ],
  [
    'the programs of a monitor',
    [monitor, [['vars', 'monitoring'], { clients: everybody }]],
    [
      'monitoring.clients has 0.0.0.0/0: everybody may read Prometheus and silence alerts in Alertmanager: they ask for no login\n  name the addresses of your operators, and of servers such as Grafana',
    ],
  ],
  ['nothing, without a monitor', [[['vars', 'monitoring'], { clients: everybody }]], []],
  ['JSON-RPC', [[['vars', 'firewall'], { json_rpc: everybody }]], []],
])('a list that opens more than JSON-RPC to everybody is a warning: %s', async (_, changes, words) => {
  expect(await said(changes)).toEqual(words);
});

test.each([
  [
    'http://files/manifest.json',
    'https://storage',
    'snapshot.manifest comes over http://, and has',
    'web server',
  ],
  ['https://files/manifest.json', 'http://storage', undefined, undefined],
  [
    's3://files/manifest.json',
    'http://storage',
    'snapshot.s3.endpoint is http://, and the manifest there has',
    'storage',
  ],
  ['s3://files/manifest.json', 'https://storage', undefined, undefined],
  ['manifest.json', 'http://storage', undefined, undefined],
])(
  'a manifest that somebody on the way can change is a warning: %s, %s',
  (manifest, endpoint, comes, server) => {
    const open = { firewall: { internal: [], metrics: [] }, monitoring: { scrape_from: [] } };
    const host = { name: 'db-1', groups: [], vars: { ...open, snapshot: { manifest, s3: { endpoint } } } };
    const found = openWays({ hosts: [host, host], placeOf: () => ({ file: 'one.yaml', line: 7 }) } as never);
    expect(found.map(describeProblem)).toEqual(
      comes
        ? [
            `one.yaml:7: ${comes} the checksums of the snapshot: somebody between you and the ${server} can change both\n  use https://, or put a copy of it beside the inventory and name the folder in snapshot.from`,
          ]
        : [],
    );
  },
);

test.each([
  ['http://git.example/node.git', 'http'],
  ['GIT://git.example/node.git', 'git'],
  ['http://203.0.113.7/node.git', 'http'],
  ['https://git.example/node.git', undefined],
  ['ssh://git@git.example/node.git', undefined],
  ['git@git.example:node.git', undefined],
  ['/srv/node.git', undefined],
  ['http://127.1/node.git', undefined],
  ['http://172.30.77.10:8080/git/node.git', undefined],
  ['git://[fd00::1]/node.git', undefined],
])(
  'a source that somebody on the way can change is a warning where it is built: %s',
  async (repository, scheme) => {
    const snapshot = (path: string, value: unknown): Changes[number] => [['vars', 'snapshot', path], value];
    const changes = [snapshot('source', { repository })];
    expect(await said([...changes, snapshot('restore_with', 'source')])).toEqual(
      scheme
        ? [
            `snapshot.source.repository comes over ${scheme}://, and its Makefile is run as root: somebody between the server and the repository can change it\n  use https:// or ssh://, or say restore_with: image`,
          ]
        : [],
    );
    expect(await said([...changes, snapshot('restore_with', 'image')])).toEqual([]);
  },
);

test('an inventory that leaves nothing open has no warning', async () => {
  expect(await warnings([])).toEqual([]);
});
