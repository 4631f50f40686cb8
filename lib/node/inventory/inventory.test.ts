import { chmod, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import { describeProblem, exitCode, Problem, Problems } from '../../engine/problem/problem.ts';
import { redact, Secret } from '../../engine/secret/secret.ts';
import { defaultSizes } from '../render/testdata/specification/defaults.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { databaseHost } from '../variables/hosts.ts';
import { loadDeployment } from './inventory.ts';

async function complaints(changes: Changes): Promise<string[]> {
  return said(await labDeployment(changes));
}

async function said(file: string): Promise<string[]> {
  try {
    await loadDeployment(file);
    return [];
  } catch (error) {
    const problems =
      error instanceof Problems ? error.problems : error instanceof Problem ? [error] : undefined;
    if (!problems) throw error;
    return problems.map((problem) => describeProblem(problem).replace(`${dirname(file)}/`, ''));
  }
}

test('two hosts at one address are refused, also with different ports for SSH', async () => {
  const behind = { address: '172.30.77.12', port: 2222 };
  expect(await complaints([[['groups', 'rpc', 'rpc-2'], behind]])).toEqual([
    expect.stringMatching(
      /^lab\.yaml:\d+:\d+: rpc-2 has the address of rpc-1, where the other hosts would reach only one of them\n/,
    ),
  ]);
});

test('the lab inventory is valid, and its passwords are read', async () => {
  const { hosts, name } = await loadDeployment(await labDeployment());
  expect(name).toBe('lab');
  expect(hosts.map(({ name, groups }) => [name, ...groups])).toEqual([
    ['db-1', 'database'],
    ['rpc-1', 'rpc'],
    ['rpc-2', 'rpc'],
  ]);
  expect(databaseHost(hosts).vars.region).toBe('lab-1');
  expect(hosts[1]?.vars.credentials.prover.password.reveal()).toBe('prover.Pw~3');
  expect(JSON.stringify(hosts)).not.toContain('Pw~');
});

test.each(['testnet', 'mainnet'])('%s has placeholders, and no file of secrets yet', async (name) => {
  const problems = await loadDeployment(name).then(
    () => [],
    (error: Problems) => error.problems,
  );
  expect(problems.length).toBeGreaterThan(10);
  const last = problems.at(-1);
  expect(last?.message).toBe(`inventory/${name}.secrets.age does not exist`);
  for (const { message, where } of problems.slice(0, -1)) {
    expect(message).toMatch(/ is not filled in$/);
    expect(where).toMatchObject({
      file: expect.stringContaining(`inventory/${name}.yaml`),
      line: expect.any(Number),
      column: expect.any(Number),
    });
  }
});

/** The lab's deployment, turned into one of the main network. */
const mainNetwork: Changes = [
  [['vars', 'network', 'kind'], 'main'],
  [['vars', 'network', 'region'], 'Singapore'],
  [['groups', 'database', 'db-1', 'region'], 'singapore'],
  ...['state', 'prover'].map((store): Changes[number] => [
    ['vars', 'snapshot', store, 'url'],
    `http://a.example/${store}_db.sql.tar.gz`,
  ]),
];

/** More RPC servers than the lab's two. */
function moreServers(number: number): Changes {
  return Array.from({ length: number }, (_, i) => [
    ['groups', 'rpc', `more-${i}`],
    { address: `10.9.9.${i + 1}` },
  ]);
}

test.each<[string, Changes, string | RegExp]>([
  [
    'two database hosts',
    [
      [['groups', 'database', 'db-2'], { address: '10.9.9.9' }],
      [['vars', 'state_db', 'max_connections'], 2000],
    ],
    /^lab\.yaml:\d+:3: group database has 2 hosts \(db-1, db-2\): there may be only one\n {2}two synchronizers/,
  ],
  [
    'no database group',
    [[['groups', 'database'], undefined]],
    /^lab\.yaml:\d+:1: group database has no host\n {2}name the one server with the state/,
  ],
  [
    'an empty rpc group',
    [[['groups', 'rpc'], {}]],
    /^lab\.yaml:\d+:3: group rpc has no host\n {2}name one or more servers for JSON-RPC/,
  ],
  [
    'a misspelt group',
    [[['groups', 'rcp'], { 'rpc-9': { address: '10.9.9.9' } }]],
    /^lab\.yaml:\d+:3: unknown group rcp\n {2}did you mean rpc\?$/,
  ],
  [
    'a misspelt group of a host that is in another one',
    [[['groups', 'gatway'], { 'rpc-1': null }]],
    /^lab\.yaml:\d+:3: unknown group gatway\n {2}did you mean gateway\?$/,
  ],
  [
    "a host in a group of one's own alone",
    [[['groups', 'asia'], { 'rpc-9': { address: '10.9.9.9' } }]],
    /^lab\.yaml:\d+:3: unknown group asia\n {2}the groups are database, rpc, replica, monitor, backup, gateway; each host is in one of them$/,
  ],
  [
    "a variable of the Database+Sync server in another server's group",
    [
      [['groups', 'rpc', 'rpc-2'], undefined],
      [['groups', 'rpc', 'vars'], { state_db: { shared_buffers: '1GB' } }],
    ],
    /^lab\.yaml:\d+:7: state_db of rpc-1 has no use: only that of the Database\+Sync server is used\n {2}move it to db-1, or to the vars of all hosts$/m,
  ],
  [
    'another chain in one group',
    [
      [['groups', 'rpc', 'rpc-2'], undefined],
      [['groups', 'rpc', 'vars'], { network: { chain_id: 1 } }],
    ],
    /^lab\.yaml:\d+:\d+: network\.chain_id of rpc-1 differs from that of db-1/,
  ],
  [
    'an older chain on one host',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { network: { chain_id: 1 } }]],
    /network\.chain_id of rpc-1 differs from that of db-1/,
  ],
  [
    'another user on one host',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { credentials: { state: { user: 'other' } } }]],
    /credentials\.state\.user of rpc-1 differs/,
  ],
  [
    'too few connections',
    [[['vars', 'prover', 'pool_connections'], 40]],
    /prover\.pool_connections is 40, but the prover needs executor_threads \+ hash_db_threads \+ 1 = 41/,
  ],
  [
    'too small a limit of connections',
    [[['vars', 'state_db', 'max_connections'], 180]],
    /state_db\.max_connections is 180, but all hosts together may open 780: 3 provers x 60 \+ 3 nodes x 2 x 100\n {2}name fewer hosts, lower/,
  ],
  ['a port twice', [[['vars', 'ports'], { pool_db: 5432 }]], /ports\.pool_db is 5432, as ports\.state_db is/],
  [
    'nine RPC servers with the sizes of the specification',
    [...defaultSizes, ...moreServers(7)],
    /^lab\.yaml:\d+:\d+: state_db\.max_connections is 20000, but all hosts together may open 36000: 10 provers x 2000 \+ 10 nodes x 2 x 800\n/,
  ],
  [
    'one server for all components of the main network',
    [...mainNetwork, [['groups', 'rpc', 'db-1'], null]],
    /^lab\.yaml:\d+:\d+: db-1 is in the groups database and rpc: on the main network JSON-RPC and gateways have servers of their own\n {2}one server for several/,
  ],
  [
    'a state database that the RPC servers cannot reach',
    [[['groups', 'database', 'db-1', 'address'], '127.0.0.1']],
    /^lab\.yaml:16:13: db-1 is at 127\.0\.0\.1, where only db-1 itself can reach its state database, but rpc-1, rpc-2 need it too\n/,
  ],
  ...['127.1', '0x7f000001', '::ffff:127.0.0.1', 'localhost.localdomain'].map(
    (address): [string, Changes, RegExp] => [
      `the same at ${address}`,
      [[['groups', 'database', 'db-1', 'address'], address]],
      address.startsWith('0') || address.startsWith('l')
        ? /db-1 is at \S+, where only db-1 itself can reach its state database/
        : /address (must be an IPv4 address of four numbers|is an IPv4 address in the notation of IPv6: write 127\.0\.0\.1)/,
    ],
  ),
  [
    'an RPC server that the database does not know',
    [[['groups', 'rpc', 'rpc-1', 'address'], '127.0.0.1']],
    /^lab\.yaml:\d+:\d+: rpc-1 is at 127\.0\.0\.1, and db-1 lets hosts in by their addresses\n {2}write the address from which rpc-1 reaches db-1, or name it in firewall\.connects_from of rpc-1$/,
  ],
  [
    'too small a limit of connections to the pool database',
    [[['vars', 'pool_db'], { max_connections: 100 }]],
    /^lab\.yaml:\d+:\d+: pool_db\.max_connections is 100, but the node may open 100: 1 node x 100\n {2}lower node\.pool_connections, or raise pool_db\.max_connections$/,
  ],
  [
    'an archive in a format that no archive of PostgreSQL has',
    [[['vars', 'snapshot', 'state', 'url'], 'https://a.example/foo.zip?sig=1']],
    /^lab\.yaml:\d+:\d+: snapshot\.state\.url ends in \.zip, and an archive of PostgreSQL is not in that format: its name ends in \.sql\.tar\.gz$/,
  ],
  ...['10.213.7.0', '10.213.7.5/24', '8.8.8.0/24', '10.0.0.0/15', '10.213.7.0/29', 'fd00::/24', 'docker'].map(
    (subnet): [string, Changes, RegExp] => [
      `containers in ${subnet}`,
      [[['vars', 'container_subnet'], subnet]],
      /^lab\.yaml:\d+:\d+: container_subnet must be a private IPv4 network of \/16 to \/28 by its first address, such as 10\.213\.7\.0\/24$/,
    ],
  ),
  [
    'containers in the network of the hosts',
    [[['vars', 'container_subnet'], '172.30.77.0/28']],
    /^lab\.yaml:\d+:\d+: container_subnet 172\.30\.77\.0\/28 has 172\.30\.77\.11, the address of db-1\n {2}containers look for an address of their own network in it alone: choose a network that nothing else uses$/,
  ],
  [
    'containers in the network of layer 1',
    [
      [['vars', 'container_subnet'], '10.213.7.0/24'],
      [['vars', 'network', 'l1_rpc_url'], 'http://10.213.7.8:8545/key'],
    ],
    /^lab\.yaml:\d+:\d+: container_subnet 10\.213\.7\.0\/24 has 10\.213\.7\.8, the address in network\.l1_rpc_url\n/,
  ],
  [
    'the port of an exporter',
    [
      [['vars', 'monitoring'], { scrape_from: ['192.0.2.99'] }],
      [['vars', 'ports'], { rpc_http: 9100 }],
    ],
    /ports\.rpc_http is 9100, where node_exporter listens$/,
  ],
  [
    'the port of the other exporter',
    [
      [['vars', 'monitoring'], { scrape_from: ['192.0.2.99'] }],
      [['vars', 'ports'], { rpc_http: 9187 }],
    ],
    /ports\.rpc_http is 9187, where postgres_exporter listens$/,
  ],
  ['the port of SSH', [[['vars', 'ports'], { rpc_http: 22 }]], /ports\.rpc_http is 22, where SSH listens$/],
  [
    'the port of the SSH server of one host',
    [
      [['groups', 'rpc', 'rpc-1', 'port'], 2222],
      [['vars', 'ports'], { rpc_http: 2222 }],
    ],
    /ports\.rpc_http is 2222, where SSH listens$/,
  ],
  [
    'a snapshot of tomorrow',
    [[['vars', 'snapshot', 'date'], '2131-01-01']],
    /snapshot\.date is in the future$/,
  ],
  [
    'no alerts on the main network',
    [...mainNetwork, [['vars', 'disk_alert', 'webhook'], undefined]],
    /disk_alert\.webhook is missing, and the main network demands alerts about disks\n {2}set the address.* webhook: journal/,
  ],
  [
    'an archive of the test network on the main network',
    [
      ...mainNetwork,
      [['vars', 'snapshot', 'state', 'url'], 'http://a.example/testnet_state_db-2026-01-01.sql.tar.gz?x=1'],
    ],
    /snapshot\.state\.url is an archive of the test network: testnet_state_db-2026-01-01\.sql\.tar\.gz\n.* is called state_db\.sql/,
  ],
  [
    'an archive of the main network on the test network',
    [[['vars', 'snapshot', 'prover', 'url'], 'http://a.example/prover_db.sql.tar.gz']],
    /snapshot\.prover\.url is an archive of the main network: prover_db\.sql\.tar\.gz\n.* is called testnet_prover_db\.sql\.tar\.gz$/,
  ],
  [
    'the archive of the other database',
    [[['vars', 'snapshot', 'prover', 'url'], 'http://a.example/testnet_state_db.sql.tar.gz']],
    /snapshot\.prover\.url is the archive of the other database: testnet_state_db\.sql\.tar\.gz\n/,
  ],
  [
    'another region for the main network',
    [...mainNetwork, [['vars', 'network', 'region'], 'tokyo']],
    /network\.region is tokyo, and the synchronizer of the main network has to be in singapore$/,
  ],
  [
    'a synchronizer of the main network in another region',
    [...mainNetwork, [['groups', 'database', 'db-1', 'region'], 'tokyo']],
    /^lab\.yaml:\d+:\d+: the region of db-1 is tokyo, and the synchronizer of the main network has to be in singapore\n/,
  ],
  [
    'a synchronizer of the main network in no region',
    [...mainNetwork, [['groups', 'database', 'db-1', 'region'], undefined]],
    /^lab\.yaml:\d+:\d+: db-1 has no region, and the synchronizer of the main network has to be in singapore\n.*region: singapore$/,
  ],
  [
    'one database for state and prover',
    [[['vars', 'credentials', 'prover', 'database'], 'state_db']],
    /credentials\.prover\.database is the state database: the prover needs one of its own/,
  ],
  ['no port', [[['vars', 'ports'], { pool_db: 0 }]], /ports\.pool_db must be at least 1$/m],
  [
    'words for a number',
    [[['vars', 'verify'], { pause_seconds: 'two' }]],
    /verify\.pause_seconds must be a number, not text/,
  ],
  [
    'half a port',
    [[['vars', 'ports'], { pool_db: 1.5 }]],
    /ports\.pool_db must be a whole number, not a number with a fraction/,
  ],
  [
    'a list with nothing in it',
    [[['groups', 'rpc', 'rpc-1', 'host_key'], []]],
    /groups\.rpc\.rpc-1\.host_key must have at least 1 in it/,
  ],
  [
    'one user for state and prover',
    [[['vars', 'credentials', 'prover', 'user'], 'state_user']],
    /credentials\.prover\.user is the state database's user: the init script creates another/,
  ],
  [
    'an alert that would never be cleared',
    [[['vars', 'disk_alert'], { warn_percent: 80, clear_percent: 80 }]],
    /disk_alert\.clear_percent must be below disk_alert\.warn_percent/,
  ],
  [
    'formatting without a named disk',
    [[['vars', 'docker_root'], { format: true }]],
    /docker_root\.format needs docker_root\.disk/,
  ],
  [
    'a temporary disk for Docker that is not named',
    [[['vars', 'docker_root'], { temporary_disk: true }]],
    /docker_root\.temporary_disk needs docker_root\.disk: a temporary disk is never chosen, only named/,
  ],
  [
    'a plain password',
    [[['vars', 'credentials', 'pool', 'password'], 'hunter2']],
    /credentials\.pool\.password must be a reference.*is never in an inventory/,
  ],
  [
    'a password file that does not exist',
    [[['vars', 'credentials', 'pool', 'password'], 'file:none']],
    /credentials\.pool\.password: .*inventory\/none does not exist|credentials\.pool\.password: none does not exist/,
  ],
  [
    'an unsafe user name',
    [[['vars', 'credentials', 'pool', 'user'], 'a/b']],
    /credentials\.pool\.user must hold only A-Z a-z 0-9 _ \. ~ -, as the node puts it unescaped into a URL/,
  ],
  [
    'source without a repository',
    [[['vars', 'snapshot', 'source'], undefined]],
    /snapshot\.source is missing: restore_with is source/,
  ],
  [
    'jobs for a tool that restores by one job',
    [[['vars', 'snapshot', 'restore_jobs'], 4]],
    /:\d+:\d+: snapshot\.restore_jobs needs restore_with: pg_restore\n {2}leave it out, or say restore_with: pg_restore; the node's own tool restores by one job/,
  ],
  [
    'too many jobs',
    [
      [['vars', 'snapshot', 'restore_with'], 'pg_restore'],
      [['vars', 'snapshot', 'restore_jobs'], 65],
    ],
    /snapshot\.restore_jobs/,
  ],
  [
    'an address that only some programs take',
    [[['vars', 'network', 'l1_rpc_url'], 'http:///x']],
    /l1_rpc_url must be a web address/,
  ],
  [
    'an address with a line break in it',
    [[['vars', 'network', 'l1_rpc_url'], 'http://a/\n/b']],
    /l1_rpc_url must be a web address/,
  ],
  [
    'no address of layer 1',
    [[['vars', 'network', 'l1_rpc_url'], undefined]],
    /^lab\.yaml:\d+:\d+: network\.l1_rpc_url is missing\n {2}Layer-1 RPC address, or several in l1_rpc_urls$/,
  ],
  ...(
    [
      [
        'both keys',
        'http://l1.example',
        ['http://a.example', 'http://b.example'],
        /: network\.l1_rpc_urls stands beside l1_rpc_url\n {2}leave one of the two out$/,
      ],
      [
        'one address in the list',
        undefined,
        ['http://a.example'],
        /: network\.l1_rpc_urls must have two addresses at least\n {2}with one address, write l1_rpc_url$/,
      ],
      [
        'the same address twice',
        undefined,
        ['http://a.example', 'HTTP://A.example:80/'],
        /: network\.l1_rpc_urls\.1 is the address of l1_rpc_urls\.0, too$/,
      ],
      [
        'a WebSocket',
        undefined,
        ['http://a.example', 'ws://b.example'],
        /: network\.l1_rpc_urls\.1 must be a web address /,
      ],
      [
        'a user name',
        undefined,
        ['http://a.example', 'http://me:secret@b.example'],
        /: network\.l1_rpc_urls\.1 must not hold a user name or a password: /,
      ],
      [
        'a fragment',
        undefined,
        ['http://a.example', 'http://b.example/#key'],
        /: network\.l1_rpc_urls\.1 must be a host name or an IP address, with a port and a path if it needs them, and no #$/,
      ],
      [
        'TLS without a name',
        undefined,
        ['http://a.example', 'https://192.0.2.7/'],
        /: network\.l1_rpc_urls\.1 must have a host name: the certificate of the provider is compared with it$/,
      ],
    ] as const
  ).map(([what, one, urls, words]): [string, Changes, RegExp] => [
    `addresses of layer 1: ${what}`,
    [
      [['vars', 'network', 'l1_rpc_url'], one],
      [['vars', 'network', 'l1_rpc_urls'], urls],
    ],
    words,
  ]),
  [
    'several addresses of layer 1 that the Database+Sync server does not have',
    [
      [
        ['groups', 'rpc', 'rpc-1', 'vars'],
        { network: { l1_rpc_urls: ['http://a.example', 'http://c.example'] } },
      ],
      [['vars', 'network', 'l1_rpc_url'], undefined],
      [
        ['vars', 'network', 'l1_rpc_urls'],
        ['http://a.example', 'http://b.example'],
      ],
    ],
    /^lab\.yaml:\d+:\d+: network\.l1_rpc_urls of rpc-1 differs from that of db-1, which chooses for all\n {2}write it once, for all hosts; a host that needs another layer 1 has l1_rpc_url$/,
  ],
  [
    'the port of layer 1 where another listens',
    [
      [['vars', 'network', 'l1_rpc_url'], undefined],
      [
        ['vars', 'network', 'l1_rpc_urls'],
        ['http://a.example', 'http://b.example'],
      ],
      [['vars', 'ports'], { layer1: 5432 }],
    ],
    /^lab\.yaml:\d+:\d+: ports\.layer1 is 5432, as ports\.state_db is$/,
  ],
  [
    'an address with a quote in it',
    [[['vars', 'disk_alert', 'webhook'], 'http://a/"b']],
    /webhook must be a web address/,
  ],
  [
    'an address that curl expands',
    [[['vars', 'network', 'genesis', 'url'], 'http://a/[1-9]']],
    /genesis\.url must be a web address/,
  ],
  [
    'an address that is not HTTP',
    [[['vars', 'network', 'trusted_sequencer_url'], 'ws://a/']],
    /trusted_sequencer_url must be a web address/,
  ],
  ...[
    ['network', 'genesis', 'url'],
    ['snapshot', 'state', 'url'],
    ['snapshot', 'prover', 'url'],
    ['snapshot', 'source', 'repository'],
    ['postgresql_repository'],
  ].flatMap((path) =>
    ['https://user:hunter2@a.example/b', 'HTTP://hunter2@a.example', 'https://a:b@hunter2@a.example?c'].map(
      (address): [string, Changes, RegExp] => [
        `a password in ${path.join('.')}: ${address}`,
        [[['vars', ...path], address]],
        new RegExp(`: ${path.join('\\.')} must not hold a user name or a password`),
      ],
    ),
  ),
  [
    'a sequencer at the address of every interface',
    [[['vars', 'network', 'trusted_sequencer_url'], 'http://0.0.0.0:8123']],
    /: network\.trusted_sequencer_url is at 0\.0\.0\.0, the address of every interface\n/,
  ],
  [
    'a sequencer that is a container of the deployment',
    [[['vars', 'network', 'trusted_sequencer_url'], 'http://json-rpc:8123']],
    /: network\.trusted_sequencer_url is at json-rpc, a container of this deployment: the node follows another\n/,
  ],
  [
    'one of several addresses of layer 1 at the address of every interface',
    [
      [['vars', 'network', 'l1_rpc_url'], undefined],
      [
        ['vars', 'network', 'l1_rpc_urls'],
        ['http://a.example', 'http://[::]:8545'],
      ],
    ],
    /: network\.l1_rpc_urls\.1 is at ::, the address of every interface\n/,
  ],
  ...[
    'ssh://u:secretpw@git.example/node.git',
    'SSH://u:a@b@git.example',
    'git://u:hunter2@git.example/a',
  ].map((address): [string, Changes, RegExp] => [
    `a password for git: ${address}`,
    [[['vars', 'snapshot', 'source', 'repository'], address]],
    /: snapshot\.source\.repository must not hold a password: it would be visible to others$/,
  ]),
  [
    'an image that is an option',
    [[['vars', 'images', 'node'], '--privileged']],
    /images\.node must be the name of an image/,
  ],
  [
    'an image with half a digest',
    [[['vars', 'images', 'node'], `a/b:v1@sha256:${'0'.repeat(32)}`]],
    /images\.node must be the name of an image.*a digest is @sha256: and 64 digits/,
  ],
  [
    'an image of two words',
    [[['vars', 'images', 'prover'], 'a b']],
    /images\.prover must be the name of an image/,
  ],
  [
    'a time server with a directive behind it',
    [[['vars', 'time_servers'], ['a\npidfile /x']]],
    /time_servers\.0 must be a host name/,
  ],
  [
    'a registry that is an address',
    [[['vars', 'registry', 'address'], 'http://a/']],
    /registry\.address must be host:port/,
  ],
  [
    'a repository that is an option',
    [[['vars', 'snapshot', 'source', 'repository'], '--upload-pack=x']],
    /source\.repository must be one word that does not start with -/,
  ],
  [
    'a tag that leaves its folder',
    [[['vars', 'snapshot', 'source', 'ref'], 'v1/../..']],
    /source\.ref must not contain \.\./,
  ],
  [
    "a tag of another generation's source",
    [[['vars', 'snapshot', 'source', 'ref'], 'v1.2.3']],
    /snapshot\.source\.ref is of the older generation, and generation is current\n {2}leave out the key: the default is that of the current generation/,
  ],
  [
    'layer 1 by TLS in the older generation',
    [
      [['vars', 'generation'], 'older'],
      [['vars', 'network', 'l1_rpc_url'], 'HTTPS://l1.example'],
    ],
    /:\d+:\d+: network\.l1_rpc_url is https:\/\/, and the older generation needs a plain-HTTP address\n {2}name an address that starts with http:\/\/, or several addresses in l1_rpc_urls, which the node reaches by HTTP/,
  ],
  [
    'a namespace that does not exist',
    [
      [
        ['vars', 'http_api'],
        ['eth', 'admin'],
      ],
    ],
    /http_api/,
  ],
  [
    'a namespace twice',
    [
      [
        ['vars', 'http_api'],
        ['eth', 'net', 'net'],
      ],
    ],
    /http_api must name each namespace once/,
  ],
  [
    'namespaces without eth',
    [[['vars', 'http_api'], ['net']]],
    /http_api must include eth: the installation check/,
  ],
  [
    "another generation's binary",
    [
      [['vars', 'generation'], 'older'],
      [['vars', 'node_binary'], '/app/zkevm-node'],
    ],
    /node_binary is of the current generation, and generation is older\n/,
  ],
  [
    'another PostgreSQL',
    [[['vars', 'images', 'database'], 'a.b:5000/postgres:16-alpine']],
    /images\.database has the tag 16-alpine, and PostgreSQL has to be of major version 15\n {2}without a tag \S+ is used; a digest, or a tag that is not a version/,
  ],
  [
    'a PostgreSQL tag without a fixed version',
    [[['vars', 'images', 'database'], 'postgres:latest']],
    /images\.database has the tag latest/,
  ],
  [
    'an image with a slash behind it',
    [[['vars', 'images', 'node'], 'a/']],
    /images\.node must be the name of an image/,
  ],
  [
    'an image with an empty digest',
    [[['vars', 'images', 'node'], 'a@']],
    /images\.node must be the name of an image/,
  ],
  [
    'an image in capitals',
    [[['vars', 'images', 'node'], 'r:5000/Node']],
    /images\.node must be the name of an image/,
  ],
  [
    'another genesis file on one host',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { network: { genesis: { sha256: 'e'.repeat(64) } } }]],
    /network\.genesis\.sha256 of rpc-1 differs from that of db-1/,
  ],
  [
    'sizes of the state database on another host',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { state_db: { work_mem: '4MB' } }]],
    /state_db of rpc-1 has no use: only that of the Database\+Sync server is used\n {2}move it to db-1, or to the vars of all hosts/,
  ],
  [
    'a port of the state database on another host',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { ports: { state_db: 6000 } }]],
    /ports\.state_db of rpc-1 has no use/,
  ],
  ['files in the root', [[['vars', 'paths'], { deployment: '/' }]], /paths\.deployment must name a folder/],
  [
    'files in a folder of the system',
    [[['vars', 'paths'], { deployment: '/etc' }]],
    /paths\.deployment must be a folder of its own/,
  ],
  [
    "data in Docker's own folder",
    [[['vars', 'paths'], { data: '/var/lib/docker/rpc' }]],
    /paths\.data must be a folder of its own, not one of the system$/m,
  ],
  [
    'data in the folder of the files',
    [[['vars', 'paths'], { data: '/opt/rpc-node' }]],
    /paths\.data must be outside of paths\.deployment: passwords are there, and only root may enter it$/m,
  ],
  [
    'data below the folder of the files',
    [[['vars', 'paths'], { data: '/srv/rpc/data', deployment: '/srv/rpc' }]],
    /paths\.data must be outside of paths\.deployment/,
  ],
  [
    'a folder with a slash behind it',
    [[['vars', 'paths'], { data: '/data/' }]],
    /paths\.data must name a folder/,
  ],
  [
    'a name that PostgreSQL cuts off',
    [[['vars', 'credentials', 'pool', 'database'], 'p'.repeat(64)]],
    /pool\.database must be at most 63 characters long/,
  ],
  [
    'a name that PostgreSQL reserves',
    [[['vars', 'credentials', 'prover', 'user'], 'pg_prover']],
    /prover\.user is a reserved name of PostgreSQL/,
  ],
  [
    'a database that PostgreSQL has already',
    [[['vars', 'credentials', 'prover', 'database'], 'postgres']],
    /prover\.database is one of PostgreSQL's own databases/,
  ],
  [
    'a name like an option',
    [[['vars', 'credentials', 'pool', 'user'], '-h']],
    /pool\.user must start with a letter, a digit or _/,
  ],
  [
    'more connections than PostgreSQL allows',
    [[['vars', 'pool_db', 'max_connections'], 300000]],
    /pool_db\.max_connections must be at most 262143/,
  ],
  [
    'a pause without end',
    [[['vars', 'verify'], { pause_seconds: 1e300 }]],
    /verify\.pause_seconds must be at most 3600/,
  ],
  [
    'a checksum in capitals',
    [[['vars', 'snapshot', 'state', 'sha256'], 'A'.repeat(64)]],
    /snapshot\.state\.sha256 must be 64 hex digits in small letters/,
  ],
  [
    'a version of Go with a patch level',
    [[['vars', 'snapshot', 'source', 'go_version'], '1.21.3']],
    /source\.go_version must be a version such as 1\.21$/m,
  ],
  [
    'a size without its unit',
    [[['vars', 'state_db', 'work_mem'], '32']],
    /state_db\.work_mem must be a PostgreSQL size such as 128MB or 16GB/,
  ],
  [
    'a number in place of a size, which quotes would not help',
    [[['vars', 'state_db', 'work_mem'], 32]],
    /state_db\.work_mem must be a PostgreSQL size such as 128MB or 16GB$/m,
  ],
  [
    'a size with a unit of PostgreSQL for Docker',
    [[['vars', 'state_db', 'shm_size'], '1GB']],
    /state_db\.shm_size must be a Docker size such as 1gb/,
  ],
  [
    'an open path',
    [[['vars', 'paths'], { data: '/data/$(id)' }]],
    /paths\.data must be an absolute path of letters/,
  ],
])('%s', async (_, changes, expected) => {
  const lines = await complaints(changes);
  expect(lines).toEqual([expect.stringMatching(expected)]);
  expect(lines[0]).toMatch(/^lab\.yaml:\d+:\d+: /);
  expect(lines[0]).not.toContain('hunter2');
});

test.each<[string, Changes]>([
  [
    'the state database may have variables on its own host',
    [[['groups', 'database', 'db-1', 'vars'], { state_db: { work_mem: '64MB' }, ports: { state_db: 6000 } }]],
  ],
  ['the main network', mainNetwork],
  [
    'alerts of the main network in the journal',
    [...mainNetwork, [['vars', 'disk_alert', 'webhook'], 'journal']],
  ],
  ['four RPC servers with the sizes of the specification', [...defaultSizes, ...moreServers(2)]],
  ['one server for all components of a test network', [[['groups', 'rpc'], { 'db-1': null }]]],
  [
    'one server for all components at an address that only it reaches',
    [
      [['groups', 'rpc'], { 'db-1': null }],
      [['groups', 'database', 'db-1', 'address'], 'localhost'],
    ],
  ],
  [
    'a mirror of the genesis file may be for one host',
    [
      [
        ['groups', 'rpc', 'rpc-1', 'vars'],
        { network: { genesis: { url: 'http://mirror.example/genesis.json' } } },
      ],
    ],
  ],
  ...['https://a.example/b@c', 'https://a.example?user=b@c', 'https://a.example:8443/#@'].map(
    (address): [string, Changes] => [
      `an @ after the host is not a user: ${address}`,
      [
        [['vars', 'network', 'genesis', 'url'], address],
        [['vars', 'snapshot', 'source', 'repository'], address],
      ],
    ],
  ),
  [
    'HAProxy on the Database+Sync server may reach a layer 1 there by loopback',
    [
      [['vars', 'network', 'l1_rpc_url'], undefined],
      [
        ['vars', 'network', 'l1_rpc_urls'],
        ['http://127.0.0.1:8545', 'http://b.example'],
      ],
    ],
  ],
  ...['git@git.example:node.git', 'ssh://git@git.example/node.git', 'ssh://git@git.example:22/a@b'].map(
    (address): [string, Changes] => [
      `a user for SSH is not a secret: ${address}`,
      [[['vars', 'snapshot', 'source', 'repository'], address]],
    ],
  ),
  ...[
    'postgres:15',
    'postgres:15.4-alpine',
    'r:5000/a/postgres:mine',
    'a.b/c__d/e-f:2024-05-01',
    `postgres@sha256:${'16'.repeat(32)}`,
  ].map((image): [string, Changes] => [
    `PostgreSQL may be ${image}`,
    [[['vars', 'images', 'database'], image]],
  ]),
])('%s', async (_, changes) => {
  expect(await complaints(changes)).toEqual([]);
});

test('components of different hosts may publish the same port', async () => {
  expect(await complaints([[['vars', 'ports'], { rpc_metrics: 9091 }]])).toEqual([]);
});

test('an unsafe password is refused once for all hosts, with reason and place, and not shown', async () => {
  const file = await labDeployment();
  const secret = join(dirname(file), '../.lab/secrets/state_db_password');
  for (const password of ['hunter2/x', 'hunter2#', 'hunter 2', 'hunter2%41', 'hünter2']) {
    await writeFile(secret, password);
    const lines = await said(file);
    expect(lines).toEqual([
      expect.stringMatching(
        /^lab\.yaml:\d+:\d+: credentials\.state\.password \(from .*\) has a character that is not allowed: only A-Z a-z 0-9/,
      ),
    ]);
    expect(lines[0]).not.toMatch(/hunter|hünter/);
  }
  await writeFile(secret, 'hunter2');
  expect(await said(file)).toEqual([
    expect.stringMatching(/^lab\.yaml:.*\) is too short: at least 8 characters\n/),
  ]);
  await chmod(secret, 0o644);
  expect(await said(file)).toEqual([
    expect.stringContaining('has mode 0644; a secret must be 0600 or stricter'),
  ]);
});

describe('secrets of the encrypted file', () => {
  const refer = (store: string): Changes[number] => [
    ['vars', 'credentials', store, 'password'],
    `secret:${store}_db_password`,
  ];
  const values = new Map(
    ['state', 'pool', 'prover'].map((store) => [`${store}_db_password`, new Secret(`${store}.Sealed~1`)]),
  );

  test('are read beside the inventory, and not at all without a reference to them', async () => {
    const opened: string[] = [];
    const unlock = async (file: string) => {
      opened.push(file);
      return values;
    };
    await loadDeployment(await labDeployment(), { unlock });
    expect(opened).toEqual([]);
    const file = await labDeployment([refer('state'), refer('pool')]);
    const { hosts } = await loadDeployment(file, { unlock });
    expect(new Set(opened)).toEqual(new Set([file.replace('.yaml', '.secrets.age')]));
    for (const { vars } of hosts) {
      expect(vars.credentials.state.password.reveal()).toBe('state.Sealed~1');
      expect(vars.credentials.prover.password.reveal()).toBe('prover.Pw~3');
    }
  });

  test('that cannot be decrypted are one problem, and not one for each reference', async () => {
    const file = await labDeployment([
      refer('state'),
      refer('pool'),
      [['ssh', 'become_password'], 'env:HOME'],
    ]);
    const lines = await said(file);
    expect(lines).toEqual([
      `lab.secrets.age does not exist\n  npx zx playbooks/secrets.mjs --inventory ${file} generate`,
    ]);
  });

  test('are missing together with the sudo password and the settings of a deployment', async () => {
    const file = await labDeployment([
      [['ssh', 'become_password'], 'secret:sudo'],
      [['groups', 'rpc', 'rpc-1', 'become_password'], 'env:SURELY_NOT_SET'],
      [['vars', 'credentials', 'pool', 'password'], 'env:NOT_SET_EITHER'],
      [['vars', 'state_db'], { max_connections: 10 }],
    ]);
    expect(
      (await said(file)).map((line) => line.split('\n')[0]?.replace(/^lab\.yaml:\d+:\d+: /, '')),
    ).toEqual([
      'lab.secrets.age does not exist',
      expect.stringContaining('become_password: environment variable SURELY_NOT_SET is not set'),
      expect.stringContaining('credentials.pool.password: environment variable NOT_SET_EITHER is not set'),
      expect.stringContaining('state_db.max_connections is 10, but all hosts'),
    ]);
  });

  test('interrupt the run on Ctrl-C at the passphrase prompt', async () => {
    const interrupted = new Problem('interrupted', { code: exitCode.interrupted });
    const unlock = () => Promise.reject(interrupted);
    await expect(loadDeployment(await labDeployment([refer('pool')]), { unlock })).rejects.toBe(interrupted);
    const sudo = await labDeployment([[['ssh', 'become_password'], 'secret:sudo']]);
    await expect(loadDeployment(sudo, { unlock })).rejects.toBe(interrupted);
  });
});

describe('secrets in any value', () => {
  const withFiles = async (changes: Changes, files: Readonly<Record<string, string>>) => {
    const file = await labDeployment(changes);
    for (const [name, text] of Object.entries(files))
      await writeFile(join(dirname(file), name), text, { mode: 0o600 });
    return file;
  };

  test('take the place of their references, alone, within a text, and in a list', async () => {
    const file = await withFiles(
      [
        [['vars', 'network', 'l1_rpc_url'], 'http://l1.example/v3/{{ file:key }}?also={{ env:ALSO }}'],
        [
          ['vars', 'time_servers'],
          ['cmd:echo ntp.example', 'other.example'],
        ],
        [['vars', 'disk_alert', 'webhook'], 'file:webhook'],
      ],
      { key: 'Key-0123\n', webhook: 'https://hooks.example/Hook-4567\n' },
    );
    const { hosts, sourcesOf } = await loadDeployment(file, { environment: { ALSO: 'Also-89' } });
    for (const { vars } of hosts) {
      expect(vars.network.l1_rpc_url).toBe('http://l1.example/v3/Key-0123?also=Also-89');
      expect(vars.time_servers).toEqual(['ntp.example', 'other.example']);
      expect(vars.disk_alert.webhook).toBe('https://hooks.example/Hook-4567');
    }
    expect(redact(JSON.stringify(hosts[0]?.vars))).not.toMatch(/Key-0123|Also-89|Hook-4567/);
    const [webhook] = sourcesOf('rpc-1', ['disk_alert', 'webhook']);
    expect(webhook?.sources[0].shown).toBe('file:webhook');
  });

  test('take their place in one of several addresses of layer 1', async () => {
    const urls = ['http://l1.example/v3/{{ file:key }}', 'env:SECOND'];
    const file = await withFiles(
      [
        [['vars', 'network', 'l1_rpc_url'], undefined],
        [['vars', 'network', 'l1_rpc_urls'], urls],
      ],
      { key: 'Key-0456\n' },
    );
    const second = 'https://l1.example/Key-0789';
    const { hosts, sourcesOf } = await loadDeployment(file, { environment: { SECOND: second } });
    expect(hosts[0]?.vars.network.l1_rpc_urls).toEqual(['http://l1.example/v3/Key-0456', second]);
    expect(redact(JSON.stringify(hosts[0]?.vars))).not.toMatch(/Key-0456|Key-0789/);
    const [shown] = sourcesOf('rpc-1', ['network', 'l1_rpc_urls']);
    expect(shown?.sources[0].shown).toMatch(/^\["http:\/\/l1\.example\/….*"env:SECOND"\]$/);
  });

  test.each<[string, string, RegExp]>([
    [
      'of a kind that does not exist',
      'http://a/{{ vault:key }}',
      /network\.l1_rpc_url has {{ vault:key }} in it, which is no reference to a secret\n {2}write {{ secret:NAME }}/,
    ],
    ['that is missing', 'env:NOT_SET', /network\.l1_rpc_url: environment variable NOT_SET is not set/],
    [
      'within a text that is missing',
      'http://a/{{ file:nowhere }}',
      /network\.l1_rpc_url: \S*nowhere does not exist/,
    ],
    [
      'that makes a wrong value, which is not repeated',
      'file:wrong',
      /^lab\.yaml:\d+:\d+: network\.l1_rpc_url must be a web address /,
    ],
  ])('are refused at their place: one %s', async (_, value, expected) => {
    const file = await withFiles([[['vars', 'network', 'l1_rpc_url'], value]], {
      wrong: 'not an Address-77',
    });
    const lines = await said(file);
    expect(lines).toEqual([expect.stringMatching(expected)]);
    expect(lines[0]).not.toContain('Address-77');
  });
});

test('the hint for a missing lab file is how to start the lab', async () => {
  const lab = fileURLToPath(new URL('../../../.lab/never-made', import.meta.url));
  const hint = 'the lab makes this file: npm run lab:up';
  const file = await labDeployment([[['vars_files'], [lab]]]);
  expect(await said(file)).toEqual([
    expect.stringMatching(new RegExp(`^lab\\.yaml:\\d+:\\d+: \\.lab/never-made does not exist\n  ${hint}$`)),
  ]);
  const keys = await labDeployment([[['ssh', 'known_hosts'], lab]]);
  await expect(loadDeployment(keys, { connects: true })).rejects.toMatchObject({
    problems: [{ message: 'known_hosts: .lab/never-made does not exist', hint }],
  });
});

test("groups of one's own have hosts and variables, and decide nothing else", async () => {
  const file = await labDeployment([
    [['groups', 'rpc', 'rpc-2'], undefined],
    [['groups', 'rpc', 'children'], ['rpc1']],
    [['groups', 'rpc1'], { 'rpc-9': { address: '10.9.9.9' } }],
    [
      ['groups', 'asia'],
      { 'db-1': null, 'rpc-9': null, vars: { region: 'asia', state_db: { work_mem: '1MB' } } },
    ],
  ]);
  const inventory = await loadDeployment(file);
  const own = inventory.hosts.map(({ name, groups, ownGroups, vars }) => [
    name,
    groups,
    ownGroups,
    vars.region,
  ]);
  expect(own).toEqual([
    ['db-1', ['database'], ['asia'], 'lab-1'],
    ['rpc-1', ['rpc'], [], undefined],
    ['rpc-9', ['rpc'], ['rpc1', 'asia'], 'asia'],
  ]);
  expect(selectHosts(inventory, 'asia,!database').map(({ name }) => name)).toEqual(['rpc-9']);
  expect(databaseHost(inventory.hosts).vars.state_db.work_mem).toBe('1MB');
});

test.each(['constructor', 'toString'])(
  'a group with the name of a JavaScript property is unknown: %s',
  async (name) => {
    const file = await labDeployment([[['groups', name, 'h-1'], { address: 'h.example' }]]);
    await expect(loadDeployment(file)).rejects.toThrow(`unknown group ${name}`);
  },
);
