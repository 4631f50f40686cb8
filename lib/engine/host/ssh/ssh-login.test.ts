import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newKeyPair } from '../../secret/testing/keys.ts';
import { connect } from '../connection.ts';
import { temporaryDirectory } from '../testing/local-connection.ts';
import { settingsFor } from '../testing/real-ssh.ts';

/** The error for a port with anything but a working sshd. */
async function refusal(answer: (socket: Socket) => void, timeout = 15): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const key = newKeyPair('ed25519');
  const identityFile = join(temporaryDirectory(), 'key');
  writeFileSync(identityFile, key.private, { mode: 0o600 });
  const { port } = server.address() as AddressInfo;
  const reach = settingsFor({ port, hostKey: key.public.trim(), clientKey: identityFile });
  return connect('h', reach, { retries: 0, timeout }).then(
    () => expect.fail('connected'),
    (error: Error) => error.message,
  );
}

test('a host that closes the connection before the login is not reported as silent', async () => {
  expect(await refusal((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'))).toMatch(
    /127\.0\.0\.1 port \d+ ended the connection before the login$/,
  );
});

test('a host that resets the connection before the login is reported as one that limits connections', async () => {
  for (const greeting of ['', 'SSH-2.0-OpenSSH_9.9\r\n']) {
    const message = refusal((socket) => {
      socket.write(greeting, () => socket.resetAndDestroy());
    });
    expect(await message).toMatch(/127\.0\.0\.1 port \d+ ended the connection before the login$/);
  }
});

test('a port with a server that is not SSH', async () => {
  expect(await refusal((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))).toMatch(
    /127\.0\.0\.1 port \d+ ended the connection before the login\n {2}the server says: HTTP\/1\.1 400 Bad Request$/,
  );
  expect(await refusal((socket) => socket.write('220 mail ESMTP\r\n'), 0.5)).toMatch(
    /^h: no login at 127\.0\.0\.1 port \d+ within 0\.5 s\n {2}the server says: 220 mail ESMTP$/,
  );
});
