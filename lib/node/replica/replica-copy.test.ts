import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readScript } from '../../engine/host/script.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';

const template = (name: string) => new URL(`../../../templates/host/${name}.sh`, import.meta.url);
const script = readScript(template('data-place'), template('replica-copy'));

/**
 * Runs the script of a copy, with a program in place of docker that answers the questions about
 * server and image.
 *
 * @param known what the server and the image say: version of its sorting rules, its major version,
 * bytes, then both of the image
 * @param more settings
 */
function copyOf(known: readonly (string | number)[], more: Readonly<Record<string, string>> = {}) {
  const folder = temporaryDirectory();
  const docker = `#!/bin/sh
echo "$*" >>${folder}/asked
case "$*" in ps*) ;; *"pg_database_size"*) printf '%s\\n' ${known.map((each) => `'${each}'`).join(' ')} ;; *) exit 1 ;; esac\n`;
  writeFileSync(join(folder, 'docker'), docker, { mode: 0o755 });
  writeFileSync(join(folder, 'password'), 'replica.Pw~5\n');
  const settings = {
    IMAGE: 'postgres:15',
    ADDRESS: '10.0.0.1',
    PORT: '5432',
    SLOT: 'slot',
    DATABASE: 'state_db',
    VERIFYING: '',
    TRUSTED: '',
    ...more,
  };
  const { stderr } = spawnSync('sh', ['-c', script], {
    encoding: 'utf8',
    env: {
      ...settings,
      PATH: `${folder}:${process.env.PATH}`,
      DATA: join(folder, 'state-db'),
      PASSWORD_FILE: join(folder, 'password'),
    },
  });
  return {
    said: stderr.trim(),
    // The folder of the copy is made first.
    isBegun: existsSync(join(folder, 'state-db.rpc-node-copy')),
    asked: readFileSync(join(folder, 'asked'), 'utf8'),
    folder,
  };
}

const huge = 2 ** 60;

test.each([
  [
    'of another major version',
    ['', 14, 1000, 15, ''],
    /^the database server is PostgreSQL 14, and postgres:15 is PostgreSQL 15/,
  ],
  [
    'that sorts text by other rules',
    ['2.31', 15, 1000, 15, '2.36'],
    /^the database server sorts text by version 2\.31/,
  ],
  [
    'larger than the disk',
    ['', 15, huge, 15, ''],
    /^there is no room for a copy in .*: it takes \d+ MB, and \d+ MB are free$/,
  ],
])('a server %s is not copied: that is asked before anything is copied', (_, known, words) => {
  const { said, isBegun, asked } = copyOf(known);
  expect(said).toMatch(words);
  expect([isBegun, asked.includes('pg_basebackup --dbname')]).toEqual([false, false]);
});

test('an image without a C library that names its version is copied to, where the server has no version either', () => {
  const { said, isBegun } = copyOf(['', 15, 1000, 15]);
  expect([said, isBegun]).toEqual([expect.stringContaining('cannot be given to the user postgres'), true]);
});

test('a copy from a server with encryption verifies it, by the authorities of the host', () => {
  const trusted = '/etc/rpc-node/tls/ca.pem';
  const verifying = `sslmode=verify-full sslrootcert=${trusted}`;
  const { asked } = copyOf(['', 15, 1000, 15], { VERIFYING: verifying, TRUSTED: trusted });
  const [question = ''] = asked.split('\n').filter((line) => line.startsWith('run'));
  expect(question).toContain(` --volume ${trusted}:${trusted}:ro postgres:15 `);
  expect(asked).toContain(`sh 10.0.0.1 5432 state_db ${verifying}`);
  expect(copyOf(['', 15, 1000, 15]).asked).not.toContain('ca.pem');
});
