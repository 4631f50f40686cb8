import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readScript } from '../../lib/engine/host/script.ts';
import { installMissing } from '../install-missing.ts';

// What a recovery asks before it copies or stops anything, with the real rsync and on a small file
// system of its own.

const template = (name: string) => new URL(`../../templates/host/${name}.sh`, import.meta.url);
const roomScript = readScript(template('data-place'), template('recovery-room'));

let folder: string;
let small: string;

beforeEach(() => {
  installMissing([['/usr/bin/rsync', 'rsync']]);
  folder = mkdtempSync('/var/tmp/recovery-room-');
  small = join(folder, 'small');
  mkdirSync(small);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
});

afterEach(() => {
  spawnSync('umount', [small]);
  rmSync(folder, { recursive: true });
});

/** The server of files on the backup host, as role recovery starts it. */
async function served(files: string, port: number) {
  const configuration = join(folder, 'rsyncd.conf');
  writeFileSync(join(folder, 'secrets'), 'recovery:backup.Pw~4\n', { mode: 0o600 });
  writeFileSync(join(folder, 'password'), 'backup.Pw~4\n', { mode: 0o600 });
  writeFileSync(
    configuration,
    `use chroot = no\n[recovery]\npath = ${files}\nread only = yes\nauth users = recovery\nsecrets file = ${folder}/secrets\n`,
  );
  const server = spawn('rsync', ['--daemon', '--no-detach', `--port=${port}`, `--config=${configuration}`], {
    stdio: 'ignore',
  });
  const answers = () =>
    new Promise<boolean>((resolve) => {
      const socket = createConnection({ port, host: '127.0.0.1' }, () => resolve(true)).on('error', () =>
        resolve(false),
      );
      socket.on('data', () => socket.destroy());
    });
  while (!(await answers())) await delay(50);
  return server;
}

test('the size of a recovery and the room for it are known before the first file is fetched', async () => {
  const files = join(folder, 'files');
  mkdirSync(files);
  execFileSync('truncate', ['-s', '3000000', join(files, 'room')]);
  const port = 18_730;
  const room = (data: string) =>
    spawnSync(
      'sh',
      [
        '-c',
        roomScript,
        'room',
        `rsync://recovery@127.0.0.1:${port}/recovery`,
        join(folder, 'password'),
        data,
        '',
      ],
      {
        encoding: 'utf8',
      },
    );
  expect(room(join(small, 'state-db')).status).not.toBe(0);
  const server = await served(files, port);
  try {
    const { stdout, stderr } = room(join(small, 'data/state-db'));
    expect(stderr).toBe('');
    const [needed = 0, free = 0] = stdout.split(' ').map(Number);
    expect(needed).toBe(3_000_000);
    expect(free).toBe(1024 * 1024);
    expect(execFileSync('ls', ['-A', small], { encoding: 'utf8' })).toBe('');
  } finally {
    server.kill();
    await once(server, 'exit');
  }
  // rsync says by 10 that nothing listens.
  expect(room(join(small, 'state-db')).status).toBe(10);
});
