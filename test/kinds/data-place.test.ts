import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeVerdict } from '../../lib/engine/resource/resource.ts';
import {
  canHoldDatabase,
  dataPlaceFunctions,
  heldIn,
  placesOfCopy,
} from '../../lib/node/databases/data-place.ts';
import { localHost } from '../../lib/node/testing/local-host.ts';
import { installMissing } from '../install-missing.ts';

// Copies of a database that come into their place, on real mounts of this machine.

let folder: string;
let data: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-place-'));
  data = join(folder, 'state-db');
});

afterEach(() => {
  for (const place of placesOfCopy(data)) spawnSync('umount', [join(place, 'pieces')]);
  spawnSync('umount', [data]);
  rmSync(folder, { recursive: true });
});

const files = ['PG_VERSION', 'base', 'global', 'postgresql.conf', 'standby.signal'];

/** Makes a whole copy of a small database, owned by another user, where the functions say. */
function copy(): void {
  const place = sh('place_of_copy "$DATA"').stdout.trim();
  mkdirSync(join(place, 'data/base/1'), { recursive: true, mode: 0o700 });
  mkdirSync(join(place, 'data/global'));
  for (const name of ['PG_VERSION', 'postgresql.conf', 'standby.signal', 'base/1/1249', 'global/pg_control'])
    writeFileSync(join(place, 'data', name), name);
  execFileSync('chown', ['-R', '65534:65534', join(place, 'data')]);
}

/** Runs a script with the functions before it. */
function sh(script: string, path = process.env.PATH ?? '') {
  const env = { PATH: path, DATA: data };
  return spawnSync('sh', ['-uc', `${dataPlaceFunctions}\n${script}`], { env, encoding: 'utf8' });
}

const place = 'put_in_place "$DATA" standby.signal';

function mountMemory(): void {
  mkdirSync(data);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', data]);
}

test.each([
  ['absent', () => {}],
  ['an empty folder', () => mkdirSync(data)],
  ['a mount of its own', mountMemory],
])('a copy comes into its place where the data directory is %s', (_, prepare) => {
  prepare();
  copy();
  expect(sh(place)).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(data).sort()).toEqual(files);
  expect(readdirSync(folder)).toEqual(['state-db']);
  expect(statSync(data)).toMatchObject({ uid: 65534, gid: 65534 });
  expect(statSync(data).mode & 0o777).toBe(0o700);
});

test('room is that of the file system to which a link leads', () => {
  const elsewhere = join(folder, 'elsewhere');
  mkdirSync(elsewhere);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', elsewhere]);
  try {
    symlinkSync(join(elsewhere, 'state-db'), data);
    expect(sh('room_for_copy "$DATA"').stdout).toBe(`${8 * 1024 ** 2}\n`);
  } finally {
    spawnSync('umount', [elsewhere]);
  }
});

test.each([
  ['absent', () => {}],
  ['a mount of its own', mountMemory],
])(
  'pieces in memory that a killed run has left are in no way where the data directory is %s',
  (_, prepare) => {
    prepare();
    copy();
    const pieces = join(sh('place_of_copy "$DATA"').stdout.trim(), 'pieces');
    mkdirSync(pieces);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', pieces]);
    expect(sh(place)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(data).sort()).toEqual(files);
    expect(readdirSync(folder)).toEqual(['state-db']);
  },
);

test('an interrupted way into a mount is gone on with, and looks whole only at its end', () => {
  mountMemory();
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  // Lets so many moves happen as there are lines in the file, and kills what started the next one.
  const left = join(programs, 'left');
  writeFileSync(
    join(programs, 'mv'),
    `#!/bin/sh\n[ -s ${left} ] || { kill -9 $PPID; exit 1; }\nsed -i 1d ${left}\nexec /bin/mv "$@"\n`,
    { mode: 0o755 },
  );
  for (const moves of [0, 1, 2]) {
    execFileSync('find', [data, '-mindepth', '1', '-delete']);
    copy();
    writeFileSync(left, '\n'.repeat(moves));
    expect(sh(place, `${programs}:${process.env.PATH}`).status).not.toBe(0);
    expect(readdirSync(data)).not.toContain('standby.signal');
    expect(sh('is_half_placed "$DATA" standby.signal').status).toBe(0);
    expect(sh(place)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(data).sort()).toEqual(files);
    expect(sh('is_half_placed "$DATA" standby.signal').status).toBe(1);
  }
});

test('the root of an ext4 file system is refused before PostgreSQL refuses it', async () => {
  installMissing([['/sbin/mkfs.ext4', 'e2fsprogs']]);
  const disk = join(folder, 'disk');
  execFileSync('truncate', ['--size=16M', disk]);
  execFileSync('mkfs.ext4', ['-q', disk]);
  mkdirSync(data);
  execFileSync('mount', ['-o', 'loop', disk, data]);
  const verdict = await canHoldDatabase(data).check(localHost());
  expect(describeVerdict(verdict)).toBe(
    `${data} is the root of a file system: it has lost+found, and PostgreSQL makes no database there`,
  );
  // What the hint says helps.
  mkdirSync(join(data, 'folder'));
  const bound = join(folder, 'bound');
  mkdirSync(bound);
  execFileSync('mount', ['--bind', join(data, 'folder'), bound]);
  try {
    expect(await canHoldDatabase(bound).check(localHost())).toEqual({ is: 'ok' });
  } finally {
    execFileSync('umount', [bound]);
  }
});

test('files of no database are refused by name; a database and a copy that is half in its place are not', async () => {
  const check = async () => describeVerdict(await canHoldDatabase(data, true).check(localHost()));
  expect(await check()).toBe('ok');
  mountMemory();
  expect(await check()).toBe('ok');
  writeFileSync(join(data, 'notes.txt'), '');
  expect(await check()).toBe(`${data} holds files that are of no database: notes.txt`);
  copy();
  expect(await heldIn(localHost(), data)).toEqual(['notes.txt']);
  const own = describeVerdict(await canHoldDatabase(data).check(localHost()));
  expect(own).toBe(`${data} holds files that are of no database: .rpc-node-copy, notes.txt`);
  writeFileSync(join(data, '.rpc-node-copy/whole'), '');
  expect(await check()).toBe('ok');
  rmSync(join(data, '.rpc-node-copy'), { recursive: true });
  writeFileSync(join(data, 'PG_VERSION'), '15\n');
  expect(await check()).toBe('ok');
});
