import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { standInFor, temporaryDirectory } from '../testing/local-connection.ts';
import { resolveSshConfig } from './resolve-ssh-config.ts';
import { parseSshConfig } from './ssh-config.ts';

/** Home directory of the account. */
const { homedir } = userInfo();

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

test('the output of ssh -G is used', () => {
  const config = parseSshConfig(
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
    { host: 'db' },
  );
  expect(config).toEqual({
    host: 'db-1.internal',
    port: 2222,
    user: 'deploy',
    identityFiles: [join(homedir, '.ssh/id_special'), `${homedir}/.ssh/deploy@db-1.internal`],
    identitiesOnly: true,
    agent: '/run/agent',
    jump: ['admin@bastion:22022', 'second'],
    proxyCommand: undefined,
    knownHostsFiles: ['/root/.ssh/known_hosts', join(homedir, '.ssh/other')],
    hostKeyAlias: 'db-key',
  });
});

test('without an ssh client the defaults apply', async () => {
  vi.stubEnv('PATH', temporaryDirectory());
  vi.stubEnv('SSH_AUTH_SOCK', '/run/my-agent');
  const config = await resolveSshConfig('10.0.0.1', { port: 2200 });
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
  const config = await resolveSshConfig('db', { user: 'me', port: 7 });
  expect(config).toMatchObject({ user: 'me', port: 7 });
  expect((await resolveSshConfig('-oProxyCommand=x')).user).toBe('-G -- -oProxyCommand=x');
});

test('files are in the home directory of the account, as for ssh, and not in $HOME', () => {
  vi.stubEnv('HOME', '/elsewhere');
  const { identityFiles, knownHostsFiles } = parseSshConfig('identityfile ~/.ssh/key\nidentityfile %d/key', {
    host: 'x',
  });
  expect(identityFiles).toEqual([join(homedir, '.ssh/key'), join(homedir, 'key')]);
  expect(knownHostsFiles).toContain(join(homedir, '.ssh/known_hosts'));
});

test('agents: none, by variable, by SSH_AUTH_SOCK', () => {
  vi.stubEnv('SSH_AUTH_SOCK', '/run/usual');
  vi.stubEnv('OTHER', '/run/other');
  const agent = (value: string) => parseSshConfig(`identityagent ${value}`, { host: 'x' }).agent;
  expect(['none', 'SSH_AUTH_SOCK', '$OTHER', '$' + '{OTHER}'].map(agent)).toEqual([
    undefined,
    '/run/usual',
    '/run/other',
    '/run/other',
  ]);
});

test('a slow host does not delay the lookup of others', async () => {
  // The last word is the host.
  standInFor('ssh', 'for last; do :; done; [ "$last" = slow ] && sleep 1; echo "hostname is-$last"');
  const names = ['slow', ...Array.from({ length: 20 }, (_, index) => `host-${index}`)];
  const ended: string[] = [];
  const configs = await Promise.all(
    names.map(async (name) => {
      const { host } = await resolveSshConfig(name);
      ended.push(name);
      return host;
    }),
  );
  expect(configs).toEqual(names.map((name) => `is-${name}`));
  expect(ended.at(-1)).toBe('slow');
});

test('an ssh that does not end is killed, and the defaults apply', async () => {
  const pidFile = join(standInFor('ssh', 'echo $$ >"$(dirname "$0")/pid"; exec sleep 60'), 'pid');
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const config = resolveSshConfig('db', { port: 7 });
  await vi.waitUntil(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await config).toMatchObject({ host: 'db', port: 7, jump: [] });
  await vi.waitUntil(() => !existsSync(`/proc/${readFileSync(pidFile, 'utf8').trim()}/exe`));
});
