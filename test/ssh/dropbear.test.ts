import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../lib/engine/host/connection.ts';
import { createReader } from '../../lib/engine/host/reader.ts';
import { write } from '../../lib/engine/host/step.ts';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import { hostOver, makeSteps } from '../../lib/engine/resource/testing/test-host.ts';
import { installMissing } from '../install-missing.ts';
import { freePort } from './sshd.ts';

beforeAll(() =>
  installMissing([
    ['/usr/sbin/dropbear', 'dropbear-bin'],
    ['/usr/bin/ssh-keygen', 'openssh-client'],
  ]),
);

/**
 * A real dropbear on loopback. In a mount namespace of its own, as it takes the keys of root's
 * home.
 */
async function startDropbear() {
  const folder = temporaryDirectory();
  const [hostKey, clientKey] = [join(folder, 'host'), join(folder, 'client')];
  const printed = execFileSync('dropbearkey', ['-t', 'ed25519', '-f', hostKey], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', clientKey]);
  copyFileSync(`${clientKey}.pub`, join(folder, 'authorized_keys'));
  const port = await freePort();
  const start =
    'mkdir -p ~/.ssh && mount --bind "$1" ~/.ssh && exec dropbear -F -E -s -p "127.0.0.1:$2" -r "$3" -P "$1/pid"';
  const running = spawn('unshare', ['-m', 'sh', '-c', start, 'sh', folder, String(port), hostKey], {
    env: { ...process.env, HOME: homedir() },
    stdio: 'ignore',
  });
  onTestFinished(() => void running.kill());
  for (let tries = 0; !existsSync(join(folder, 'pid')); tries += 1) {
    if (tries === 200) throw new Error('dropbear does not start');
    await delay(50);
  }
  return { port, hostKey: /^ssh-ed25519 \S+/m.exec(printed)?.[0] ?? '', clientKey };
}

test.each([undefined, 'openssh'] as const)(
  'dropbear, which ends at a command line of 9,000 bytes, runs scripts of any size (client: %s)',
  async (client) => {
    const connection = await connect('db-1', settingsFor(await startDropbear(), { client }), { retries: 0 });
    onTestFinished(() => connection.close());
    const long = `#${'x'.repeat(200_000)}\n`;
    for (const stdin of [undefined, '', 'in', 'in '.repeat(100_000)]) {
      const { code, stdout } = await connection.exec(`${long}cat; exit 3`, { stdin });
      expect([code, stdout.toString()]).toEqual([3, stdin ?? '']);
    }
    const reader = createReader(connection, 'db-1');
    expect((await reader.$`: ${'y'.repeat(20_000)}; id -u`).text()).toBe('0');
    const path = join(temporaryDirectory(), 'file');
    await makeSteps(hostOver(connection), write(path, 'z'.repeat(300_000)));
    expect((await reader.stat(path))?.size).toBe(300_000);
  },
);
