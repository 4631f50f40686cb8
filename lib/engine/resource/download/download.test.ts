import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Output } from '../../host/output.ts';
import { shell } from '../../host/shell.ts';
import { temporaryDirectory } from '../../host/testing/local-connection.ts';
import { describeVerdict, driftOf } from '../resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { download } from './download.ts';
import { downloadScript } from './download-script.ts';

const hash = 'a'.repeat(64);
const file = { ...rootsFile, size: 3_000_000_000, modified: 1700000000.75 };

test.each([
  [`${hash} 3000000000 1700000000\n`, []],
  [`${'b'.repeat(64)} 3000000000 1700000000`, [{ what: 'SHA-256', was: 'b'.repeat(64), wanted: hash }]],
  [`${hash} 3000000001 1700000000`, [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${hash}` }]],
  [`${hash} 3000000000 1700000001`, [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${hash}` }]],
  ['', [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${hash}` }]],
])(
  'a note beside a file speaks of this file and of the wanted content, or does not count: %#',
  async (note, differences) => {
    const read = async (path: string) => (path === '/y.verified' ? Buffer.from(note) : undefined);
    const host = fakeHost([], { stat: async () => file, read });
    const wanted = download({ url: 'http://x/y', path: '/y', sha256: hash });
    expect(await wanted.check(host)).toMatchObject(driftOf(differences));
  },
);

test.each([1, 8])(
  'the script is a POSIX shell script for any address and path, with %i connections',
  (connections) => {
    const source = {
      url: "http://x/it's?a=$(touch /tmp/x)&b=`id`",
      path: "/data/a 'b'/c",
      sha256: hash,
      connections,
    };
    execFileSync('/bin/sh', ['-n'], { input: downloadScript(source, '/run/x.status') });
    expect(downloadScript(source, '/run/x.status')).toContain(
      `url='http://x/it'\\''s?a=$(touch /tmp/x)&b=\`id\`'`,
    );
  },
);

test('a forged size from a server is not run as a command, in any shell', () => {
  const folder = temporaryDirectory();
  const ran = join(folder, 'ran');
  const curl = `#!/bin/sh\nprintf 'HTTP/1.1 200 OK\\r\\nContent-Length: a[$(touch$IFS${ran})]\\r\\n'\n`;
  writeFileSync(join(folder, 'curl'), curl, { mode: 0o755 });
  const script = downloadScript(
    { url: 'http://x/y', path: join(folder, 'y'), sha256: hash, connections: 1 },
    join(folder, 'status'),
  );
  const shells = ['/bin/sh', '/bin/bash'].filter((shell) => existsSync(shell));
  for (const shell of shells) {
    const { status, stderr } = spawnSync(shell, ['-c', script], {
      env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
      encoding: 'utf8',
    });
    expect(status, shell).toBe(1);
    expect(stderr).toContain('answers a length that is not a number');
    expect(existsSync(ran), shell).toBe(false);
  }
});

test('a folder in which another user can change names is refused, and nothing is made there', () => {
  const top = temporaryDirectory();
  const folder = join(top, 'folder');
  mkdirSync(folder);
  chownSync(folder, 64_245, 64_245);
  const source = { url: 'http://127.0.0.1:9/y', path: join(folder, 'y'), sha256: hash, connections: 1 };
  const { status, stderr } = spawnSync('/bin/sh', ['-c', downloadScript(source, '/nowhere/status')], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([
    1,
    `${folder} is not used: user 64245 can change the names in ${folder}, and root would follow them. Choose a path in a folder that only root can change\n`,
  ]);
  expect(readdirSync(folder)).toEqual([]);
});

test.each([0, 17, 1.5, Number.NaN])('%d is not a number of connections', (count) => {
  expect(() => download({ url: 'http://x/y', path: '/y', connections: count, sha256: hash })).toThrow(
    `${count} is no number of connections from 1 to 16`,
  );
});

test('the query of an address is shown neither for a missing file nor in the title of its unit', async () => {
  const file = download({ url: 'https://x.example/y?X-Amz-Signature=5ec2e7', path: '/data/y', sha256: hash });
  const shown = 'InvocationID=1\nActiveState=failed\nResult=exit-code\nExecMainStatus=1\n';
  const answers = [
    [/show --property InvocationID/, shown],
    [/^/, ''],
  ] as const;
  const host = fakeHost(answers, {
    unit: async () => ({ ...stoppedUnit, active: 'failed' }),
    sleep: async (_, until) => until,
  });
  expect(describeVerdict(await file.check(host))).toBe('file: absent -> https://x.example/y');
  await expect(applyDrift(host, file)).rejects.toThrow(
    /^download https:\/\/x\.example\/y to \/data\/y: (?!.*5ec2e7)/s,
  );
});

test('progress is the size on disk, without the holes of the partial file', async () => {
  const states = ['active', 'active', 'inactive'];
  const shown: unknown[] = [];
  const statuses = ['downloading 4096000\n', 'verifying\n'];
  const answer = (text: string) => {
    if (text.includes('show --property InvocationID')) return `ActiveState=${states.shift()}\n`;
    return /^stat .*\.part/.test(text) ? '1000 512\n' : '';
  };
  const host = fakeHost([[/^/, '']], {
    $: shell(async (text) => new Output(0, Buffer.from(answer(text)), '')),
    unit: async () => stoppedUnit,
    read: async (path) => (path.endsWith('.status') ? Buffer.from(statuses.shift() ?? '') : undefined),
    progress: (progress) => void shown.push(progress),
    sleep: async (_seconds, until) => until,
  });
  await applyDrift(host, download({ url: 'http://x/y', path: '/data/y', sha256: hash }));
  expect(shown).toEqual([
    { what: 'downloading y', done: 512_000, total: 4_096_000, unit: 'bytes' },
    { what: 'verifying y' },
  ]);
});
