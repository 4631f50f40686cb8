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
const recoveryScript = readScript(template('recovery'));

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

test('the size of the recovered files and the room for them are known before the first is fetched', async () => {
  const files = join(folder, 'files');
  mkdirSync(join(files, 'base'), { recursive: true });
  writeFileSync(join(files, 'base/1'), Buffer.alloc(3_000_000));
  const port = 18_730;
  const room = (data: string) =>
    spawnSync(
      'sh',
      [
        '-c',
        roomScript,
        'room',
        `rsync://recovery@127.0.0.1:${port}/recovery/`,
        join(folder, 'password'),
        data,
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

test('a recovery that the backup host has no room for is refused before it reads or copies anything', () => {
  const repository = join(folder, 'repository');
  const backup = join(repository, 'base/20260101T000000');
  mkdirSync(join(backup, 'data'), { recursive: true });
  mkdirSync(join(repository, 'wals/0000000100000000'), { recursive: true });
  writeFileSync(
    join(backup, 'backup.info'),
    'status=DONE\nbegin_wal=000000010000000000000002\nend_time=2026-01-01 00:10:00+00:00\n',
  );
  writeFileSync(join(backup, 'data/1'), Buffer.alloc(500_000, 1));
  const settings = join(folder, 'recovery.conf');
  writeFileSync(settings, `REPOSITORY=${repository}\n`);
  const stage = () =>
    spawnSync('sh', ['-c', recoveryScript, 'recovery', 'stage', join(small, 'staged'), 'latest'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, RECOVERY_CONF: settings },
    }).stderr;
  // Without Barman the next step fails: there was room.
  expect(stage()).not.toContain('no room');
  // A segment of the log has 16 MiB, however small it is packed. One from before the backup is not
  // needed.
  writeFileSync(join(repository, 'wals/0000000100000000/000000010000000000000001'), '');
  expect(stage()).not.toContain('no room');
  writeFileSync(join(repository, 'wals/0000000100000000/000000010000000000000003'), '');
  expect(stage()).toMatch(
    /^there is no room for the recovery in .*\/small: it takes 17 MB, and 1 MB are free$/m,
  );
});
