import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connect } from '../../lib/engine/host/connection.ts';
import { processesWith, temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { newUser, open, said, sshConfig, sshdWith, twoFactors } from './login.ts';
import { freePort, installSshd, type Sshd } from './sshd.ts';

beforeAll(() => {
  installSshd();
  vi.stubEnv('SSH_AUTH_SOCK', '');
});

afterAll(() => void vi.unstubAllEnvs());

/** Two servers, and how one is reached through the other as this user. */
async function behindJump(lines: string, user = 'root') {
  const [jump, host] = [await sshdWith(`LogLevel VERBOSE\n${lines}`), await sshdWith('')];
  const known = join(temporaryDirectory(), 'known');
  const line = ({ port, hostKey }: Sshd) => `[127.0.0.1]:${port} ${hostKey}\n`;
  writeFileSync(known, line(jump) + line(host));
  appendFileSync(`${jump.clientKey}.pub`, readFileSync(`${host.clientKey}.pub`));
  sshConfig('IdentityFile none');
  const through: Partial<ConnectionSettings> = {
    client: 'openssh',
    hostKeys: [],
    knownHostsFile: known,
    jump: [`${user}@127.0.0.1:${jump.port}`],
  };
  const logins = () => jump.log().match(/^Accepted \S+ for .* port/gm)?.length ?? 0;
  return { jump, host, known, through, logins };
}

const hosts = (count: number) => Array.from({ length: count }, (_, at) => `rpc-${at + 1}`);

test('the second factor of a jump host is asked for once, for all hosts behind it', async () => {
  const user = newUser();
  const { host, through } = await behindJump(twoFactors, user);
  const ask = vi.fn(async () => {
    await delay(500);
    return 'right-password';
  });
  const connections = await Promise.all(hosts(8).map((name) => open(host, through, { ask }, name)));
  expect(ask).toHaveBeenCalledTimes(1);
  // The others stay where one of them goes.
  await connections[0]?.close();
  expect((await connections[1]?.exec('echo in'))?.stdout.toString()).toBe('in\n');
  // One that comes later.
  expect(await said(host, through, ask, 'later')).toBe('in');
  expect(ask).toHaveBeenCalledTimes(1);
  await Promise.all(connections.map((connection) => connection.close()));
});

test('a jump host that wants more than a key sees one login of the SSH library and one of OpenSSH', async () => {
  const { jump, host, through } = await behindJump(twoFactors, newUser());
  const ask = vi.fn(async () => 'right-password');
  const ways = hosts(8).map((name) => said(host, { ...through, client: undefined }, ask, name));
  expect(await Promise.all(ways)).toEqual(hosts(8).map(() => 'in'));
  expect(ask).toHaveBeenCalledTimes(1);
  expect(jump.log().match(/^Connection from /gm)).toHaveLength(2);
});

test('the login at a jump host ends with the last host behind it', async () => {
  const { jump, host, through, logins } = await behindJump('');
  const connections = await Promise.all(hosts(3).map((name) => connect(name, settingsFor(host, through))));
  expect(logins()).toBe(1);
  for (const connection of connections) {
    expect(processesWith(`-p ${jump.port} -- 127.0.0.1`)).not.toEqual([]);
    await connection.close();
  }
  await vi.waitFor(() => expect(processesWith(`-p ${jump.port} -- 127.0.0.1`)).toEqual([]), 60_000);
  expect(await said(host, through)).toBe('in');
  expect(logins()).toBe(2);
});

test('a jump host that lets nobody in is named for each host', async () => {
  const { host, known, through } = await behindJump('AuthorizedKeysFile none');
  const refusals = (more: Partial<ConnectionSettings>) =>
    Promise.all(hosts(3).map((name) => said(host, { ...through, ...more }, {}, name)));
  for (const [at, refusal] of (await refusals({})).entries())
    expect(refusal).toMatch(new RegExp(`^rpc-${at + 1} \\(jump host root@.*\\): root could not log in`));
  writeFileSync(known, '');
  for (const [at, refusal] of (await refusals({})).entries())
    expect(refusal).toMatch(
      new RegExp(`^rpc-${at + 1} \\(jump host root@.*\\): the host key of .* is not known`),
    );
});

test('a jump host that accepts no key sees one login of the SSH library, and is named for each host', async () => {
  const { jump, host, through } = await behindJump('AuthorizedKeysFile none');
  const ways = hosts(8).map((name) => said(host, { ...through, client: undefined }, {}, name));
  for (const [at, refusal] of (await Promise.all(ways)).entries())
    expect(refusal).toMatch(new RegExp(`^rpc-${at + 1} \\(jump host root@.*\\): root could not log in`));
  expect(jump.log().match(/^Connection from /gm)).toHaveLength(1);
});

test('a jump host that may forward nothing is no fault of the network', async () => {
  const { host, through } = await behindJump('AllowTcpForwarding no');
  for (const more of [{}, { client: undefined }])
    expect(await said(host, { ...through, ...more })).toMatch(
      /jump host root@\S+ forwards nothing to 127\.0\.0\.1 port \d+\n {2}nothing was connected to\. See AllowTcpForwarding and PermitOpen/,
    );
});

test('what a jump host says of one host is not said of another', async () => {
  const { host, through } = await behindJump('');
  const nowhere = await freePort();
  const ways = [
    said(host, { ...through, port: nowhere }, {}, 'away'),
    said(host, { ...through, user: 'nobody-of-this-name' }, {}, 'stranger'),
    said(host, through, {}, 'well'),
  ];
  const [away, stranger, well] = await Promise.all(ways);
  expect(away).toMatch(/^away: jump host .* could not reach 127\.0\.0\.1 port \d+: .*refused/i);
  expect(stranger).toMatch(/^stranger: nobody-of-this-name could not log in/);
  expect(well).toBe('in');
  // It is no matter that the others came earlier.
  const kept = await open(host, through, {}, 'kept');
  expect(await said(host, { ...through, port: nowhere }, {}, 'away')).toMatch(/could not reach/);
  expect(await said(host, { ...through, user: 'nobody-of-this-name' }, {}, 'stranger')).toMatch(
    /^stranger: nobody-of-this-name could not log in/,
  );
  await kept.close();
});

test('one host that is given up at the question of a jump host does not end the login of others', async () => {
  const { host, through } = await behindJump(twoFactors, newUser());
  let answer: (text: string) => void = () => {};
  const ask = vi.fn(
    () =>
      new Promise<string>((resolve) => {
        answer = resolve;
      }),
  );
  const giveUp = new AbortController();
  const first = said(host, through, { ask, signal: giveUp.signal }, 'first');
  await vi.waitFor(() => expect(ask).toHaveBeenCalled(), 60_000);
  const second = said(host, through, ask, 'second');
  await delay(500);
  giveUp.abort();
  expect(await first).toMatch(/^first.*: interrupted while connecting$/);
  answer('right-password');
  expect(await second).toBe('in');
  expect(ask).toHaveBeenCalledTimes(1);
});

test('after the connection of a jump host has broken off, the next host logs in there anew', async () => {
  const { jump, host, through, logins } = await behindJump('');
  const connection = await open(host, through);
  for (const pid of processesWith(`-p ${jump.port} -- 127.0.0.1`)) process.kill(Number(pid), 'SIGKILL');
  await expect(connection.exec('echo in')).rejects.toThrow();
  expect(await said(host, through, { retries: 2 })).toBe('in');
  expect(logins()).toBe(2);
});
