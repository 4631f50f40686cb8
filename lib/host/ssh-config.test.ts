import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { parseSshConfig, resolveSshConfig } from './ssh-config.ts';
import { standInFor, temporaryDirectory } from './testing.ts';

afterEach(() => vi.unstubAllEnvs());

test('what ssh -G says is taken over', () => {
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
    identityFiles: [join(homedir(), '.ssh/id_special'), `${homedir()}/.ssh/deploy@db-1.internal`],
    identitiesOnly: true,
    agent: '/run/agent',
    jump: ['admin@bastion:22022', 'second'],
    proxyCommand: undefined,
    knownHostsFiles: ['/root/.ssh/known_hosts', join(homedir(), '.ssh/other')],
    hostKeyAlias: 'db-key',
  });
});

test('without an ssh client the usual values stand', async () => {
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
  expect(config.identityFiles).toContain(join(homedir(), '.ssh/id_ed25519'));
  expect(config.knownHostsFiles).toContain('/etc/ssh/ssh_known_hosts');
});

test('what the inventory says reaches ssh, for its Match blocks, and outranks it', async () => {
  standInFor('ssh', 'echo "user $*"; echo "port 1"');
  const config = await resolveSshConfig('db', { user: 'me', port: 7 });
  expect(config).toMatchObject({ user: 'me', port: 7 });
  expect((await resolveSshConfig('-oProxyCommand=x')).user).toBe('-G -- -oProxyCommand=x');
});

test('agents: none, by variable, by the usual variable', () => {
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
