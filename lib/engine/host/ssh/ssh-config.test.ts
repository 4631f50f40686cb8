import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { describeProblem } from '../../problem/problem.ts';
import { Unreachable } from '../connection-errors.ts';
import { standInFor, temporaryDirectory } from '../testing/local-connection.ts';
import { realSshWith } from '../testing/real-ssh.ts';
import { resolveSshConfig } from './resolve-ssh-config.ts';
import { parseSshConfig } from './ssh-config.ts';
import { parseSshSettings } from './ssh-settings.ts';

/** Home directory of the account. */
const { homedir } = userInfo();

/** The settings of ssh_config for a host. */
function configOf(text: string, host = 'x') {
  return parseSshConfig(parseSshSettings(text), { host, name: 'db-1', usual: new Map() });
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

test.each([
  ['/a b/c ~/x y z', ['/a b/c', `${homedir}/x y z`]],
  ['known_hosts known_hosts2 third', ['known_hosts', 'known_hosts2', 'third']],
  ['/a  b %d/c', ['/a  b', `${homedir}/c`]],
  ['none', []],
])('files of known hosts in one line: %s', (list, files) => {
  expect(configOf(`userknownhostsfile ${list}\nglobalknownhostsfile none`).knownHostsFiles).toEqual(files);
});

test('the output of ssh -G is used', () => {
  const config = configOf(
    `host db
user deploy
hostname db-1.internal
port 2222
identitiesonly yes
identityfile ~/.ssh/id_special
identityfile %d/.ssh/%r@%h
identityagent /run/agent
proxyjump admin@bastion:22022,second
userknownhostsfile /root/.ssh/known_hosts ~/.ssh/other
globalknownhostsfile none
hostkeyalias db-key
`,
    'db',
  );
  expect(config).toEqual({
    host: 'db-1.internal',
    port: 2222,
    user: 'deploy',
    identityFiles: [join(homedir, '.ssh/id_special'), `${homedir}/.ssh/deploy@db-1.internal`],
    identitiesOnly: true,
    agent: '/run/agent',
    jump: ['admin@bastion:22022', 'second'],
    knownHostsFiles: ['/root/.ssh/known_hosts', join(homedir, '.ssh/other')],
    hostKeyAlias: 'db-key',
    family: undefined,
    bindAddress: undefined,
    revokedHostKeys: undefined,
    leastRsaBits: 1024,
    algorithms: {},
    isBeyondLibrary: false,
    settings: expect.any(Map),
  });
});

test('without an ssh client the defaults apply', async () => {
  vi.stubEnv('PATH', temporaryDirectory());
  vi.stubEnv('SSH_AUTH_SOCK', '/run/my-agent');
  const config = await resolveSshConfig('db-1', '10.0.0.1', { port: 2200 });
  expect(config).toMatchObject({
    host: '10.0.0.1',
    port: 2200,
    user: userInfo().username,
    agent: '/run/my-agent',
    jump: [],
    identitiesOnly: false,
  });
  expect(config.identityFiles).toContain(join(homedir, '.ssh/id_ed25519'));
  expect(config.knownHostsFiles).toContain('/etc/ssh/ssh_known_hosts');
});

test('values of the inventory are passed to ssh for its Match blocks, and override its result', async () => {
  standInFor('ssh', 'echo "user $*"; echo "port 1"');
  const config = await resolveSshConfig('db-1', 'db', { user: 'me', port: 7 });
  expect(config).toMatchObject({ user: 'me', port: 7 });
  expect((await resolveSshConfig('db-1', '-oProxyCommand=x')).user).toBe('-G -- -oProxyCommand=x');
});

test('files are in the home directory of the account, as for ssh, and not in $HOME', () => {
  vi.stubEnv('HOME', '/elsewhere');
  const { identityFiles, knownHostsFiles } = configOf('identityfile ~/.ssh/key\nidentityfile %d/key');
  expect(identityFiles).toEqual([join(homedir, '.ssh/key'), join(homedir, 'key')]);
  expect(knownHostsFiles).toContain(join(homedir, '.ssh/known_hosts'));
});

test('agents: none, by variable, by SSH_AUTH_SOCK', () => {
  vi.stubEnv('SSH_AUTH_SOCK', '/run/usual');
  vi.stubEnv('OTHER', '/run/other');
  const agent = (value: string) => configOf(`identityagent ${value}`).agent;
  expect(['none', 'SSH_AUTH_SOCK', '$OTHER', '$' + '{OTHER}'].map(agent)).toEqual([
    undefined,
    '/run/usual',
    '/run/other',
    '/run/other',
  ]);
});

test('an address of the other version of IP is refused, as ssh refuses it', () => {
  expect(() => configOf('addressfamily inet6\nhostname 192.0.2.2')).toThrow(
    'ssh_config wants IPv6 (AddressFamily), and 192.0.2.2 is an address of IPv4',
  );
  expect(configOf('addressfamily inet\nhostname 192.0.2.2').family).toBe(4);
  expect(configOf('addressfamily inet6\nhostname db-1.example').family).toBe(6);
});

test('a slow host does not delay the lookup of others', async () => {
  // The last word is the host. The slow one waits until ssh has answered for all others.
  standInFor(
    'ssh',
    `for last; do :; done
here=$(dirname "$0")
case $last in
  slow) until [ "$(ls "$here" | grep -c ^host-)" = 20 ]; do sleep 0.1; done ;;
  host-*) : >"$here/$last" ;;
esac
echo "hostname is-$last"`,
  );
  const names = ['slow', ...Array.from({ length: 20 }, (_, index) => `host-${index}`)];
  const configs = await Promise.all(names.map((name) => resolveSshConfig(name, name)));
  expect(configs.map(({ host }) => host)).toEqual(names.map((name) => `is-${name}`));
});

/** The error for a host. */
async function refusal(address: string, given?: { user?: string; port?: number }): Promise<string> {
  const failed: unknown = await resolveSshConfig('db-1', address, given).then(
    () => expect.fail('resolved'),
    (error: unknown) => error,
  );
  expect(failed).toBeInstanceOf(Unreachable);
  return describeProblem(failed as Unreachable);
}

test('an ssh that does not end is killed, and its host is refused', async () => {
  const pidFile = join(
    standInFor('ssh', '[ "$1" = -F ] || { echo $$ >"$(dirname "$0")/pid"; exec sleep 60; }'),
    'pid',
  );
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const refused = refusal('db', { port: 7 });
  await vi.waitUntil(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await refused).toBe(
    'db-1: ssh did not read its configuration for db within 10 s\n  nothing was connected to. Find out which program of ssh_config takes so long (Match exec): ssh -G db',
  );
  await vi.waitUntil(() => !existsSync(`/proc/${readFileSync(pidFile, 'utf8').trim()}/exe`));
});

test('paths have the tokens and variables of ssh_config', () => {
  vi.stubEnv('OTHER', '/run/other');
  const text = 'hostname h.internal\nuser me\nport 7\nhostkeyalias alias\n';
  const variable = (name: string) => `$\{${name}}/key`;
  const paths = ['%n %h %r %p %u %i %k %l %% %Z', variable('OTHER'), variable('NOT_SET'), '%L %j'];
  const { username, uid } = userInfo();
  expect(
    configOf(text + paths.map((path) => `identityfile ${path}\n`).join(''), 'asked').identityFiles,
  ).toEqual([
    `asked h.internal me 7 ${username} ${uid} alias ${hostname()} % %Z`,
    '/run/other/key',
    variable('NOT_SET'),
    `${hostname().split('.')[0]} `,
  ]);
});

const hint =
  'nothing was connected to, as users, keys and jump hosts may be in that configuration. Correct it, and try: ssh -G db';

test('where ssh cannot read its configuration, its own words are shown with file and line', async () => {
  const misspelt = realSshWith('Host *\n  User anna\n  NoSuchOption yes\n');
  expect(await refusal('db')).toBe(
    `db-1: ssh cannot read its configuration for db: ${misspelt}: line 3: Bad configuration option: nosuchoption
${misspelt}: terminating, 1 bad configuration options\n  ${hint}`,
  );
  const marked = realSshWith('\ufeffHost *\n  User anna\n');
  expect(await refusal('db')).toContain(`${marked}: line 1: Bad configuration option: \\357\\273\\277host\n`);
  const value = realSshWith('Host db\n  Port many\n');
  expect(await refusal('db')).toContain(`${value} line 2: Bad port 'many'.`);
});

test.each([
  ['mode 0666', 'chmod 0666'],
  ['another owner', 'chown 12345'],
])("an ssh_config that others can write is refused in ssh's words: %s", async (_, change) => {
  // ssh looks at the owner and the mode of its usual files only: in a mount namespace of its own,
  // the home has one.
  const home = temporaryDirectory();
  mkdirSync(join(home, '.ssh'), { mode: 0o700 });
  writeFileSync(join(home, '.ssh/config'), 'User u1\n', { mode: 0o600 });
  chmodSync(home, 0o700);
  standInFor(
    'ssh',
    `[ "$1" = -F ] && exec /usr/bin/ssh "$@"
exec unshare -m sh -c 'mount --bind ${home} ${homedir}; ${change} ${homedir}/.ssh/config; exec /usr/bin/ssh "$@"' sh "$@"`,
  );
  expect(await refusal('db')).toBe(
    `db-1: ssh cannot read its configuration for db: Bad owner or permissions on ${homedir}/.ssh/config\n  ${hint}`,
  );
});

test('each host gets what ssh says about it: patterns, Match, tokens, canonical names', async () => {
  realSshWith(`Host db-?
  User anna
Match host rpc-1 user bert
  Port 2200
Match originalhost rpc-2 exec "test %p = 22"
  HostName %h.internal
Host *
  User carl
`);
  const found = await Promise.all([
    resolveSshConfig('a', 'db-1'),
    resolveSshConfig('b', 'db-12'),
    resolveSshConfig('c', 'rpc-1', { user: 'bert' }),
    resolveSshConfig('d', 'rpc-2'),
    resolveSshConfig('e', 'rpc-2', { port: 23 }),
  ]);
  expect(found.map(({ user, host, port }) => `${user}@${host}:${port}`)).toEqual([
    'anna@db-1:22',
    'carl@db-12:22',
    'bert@rpc-1:2200',
    'carl@rpc-2.internal:22',
    'carl@rpc-2:23',
  ]);
});

test('where no ssh is installed, an ssh_config is not passed over', async () => {
  const folder = temporaryDirectory();
  const file = join(folder, 'config');
  vi.stubEnv('PATH', folder);
  vi.resetModules();
  const reads = {
    '/etc/ssh/ssh_config': '# the usual one\nHost *\n    SendEnv LANG LC_*\n    HashKnownHosts yes\n',
  };
  const own = join(homedir, '.ssh/config');
  const texts: Record<string, string> = reads;
  vi.doMock('./read-text.ts', () => ({ readText: (path: string) => texts[path] }));
  const fresh = await import('./resolve-ssh-config.ts');
  expect((await fresh.resolveSshConfig('db-1', 'db')).user).toBe(userInfo().username);
  texts[own] = 'Host db\n  User anna\n';
  await expect(fresh.resolveSshConfig('db-1', 'db')).rejects.toMatchObject({
    message: `db-1: there is ${own}, and no program ssh that can read it`,
    hint: 'nothing was connected to, as users, keys and jump hosts may be in that file. Install OpenSSH (openssh-client), or move the file away',
  });
  vi.doUnmock('./read-text.ts');
  vi.resetModules();
  expect(existsSync(file)).toBe(false);
});
