import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { directoryForAll } from '../../host/testing/local-connection.ts';
import { ok } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { gitCheckout } from './git-checkout.ts';

const host = await thisMachine();
const directory = directoryForAll();
const repository = join(directory, 'repository');
const path = join(directory, 'tools');
const git = (...words: string[]) =>
  execFileSync('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=a@localhost', ...words]);

beforeAll(() => {
  mkdirSync(repository);
  git('init', '--quiet', '--initial-branch=main');
  for (const version of ['v1', 'v2']) {
    writeFileSync(join(repository, 'tool'), `${version}\n`);
    git('add', '.');
    git('commit', '--quiet', '--message', version);
    git('tag', version);
  }
});

const tool = () => readFileSync(join(path, 'tool'), 'utf8');

test('it is cloned, and then moved to another tag; files that Git does not track stay', async () => {
  const first = gitCheckout(path, { repository, ref: 'v1' });
  expect(await first.check(host)).toMatchObject({
    differences: [{ what: 'commit', was: 'absent', wanted: 'v1' }],
  });
  await applyDrift(host, first);
  expect([tool(), await first.check(host)]).toEqual(['v1\n', ok]);
  writeFileSync(join(path, 'own'), 'x');
  const second = gitCheckout(path, { repository, ref: git('rev-parse', 'v2').toString().trim() });
  await applyDrift(host, second);
  expect([tool(), await second.check(host), existsSync(join(path, 'own'))]).toEqual(['v2\n', ok, true]);
});

test('a tag that does not exist leaves nothing behind', async () => {
  await expect(applyDrift(host, gitCheckout(`${path}-no`, { repository, ref: 'v9' }))).rejects.toThrow('v9');
  expect(readdirSync(directory).filter((name) => name.startsWith('tools-no'))).toEqual([]);
});

test.each(['v1', 'v2'])('local changes are refused and stay: v2 is there, and %s wanted', async (ref) => {
  writeFileSync(join(path, 'tool'), 'mine\n');
  expect(await gitCheckout(path, { repository, ref }).check(host)).toMatchObject({
    change: {
      message: `${path} has local changes: tool`,
      hint: `see git -C ${path} diff; commit them elsewhere, or undo them`,
    },
  });
  expect(tool()).toBe('mine\n');
});

test('a folder that is no checkout, or of another repository, is refused', async () => {
  const elsewhere = gitCheckout(path, { repository: 'https://example.org/other.git', ref: 'v1' });
  expect(await elsewhere.check(host)).toMatchObject({
    note: `${path} is a checkout of ${repository}`,
    change: { hint: 'move it, or correct the role' },
  });
  const folder = join(directory, 'plain');
  mkdirSync(folder);
  expect(await gitCheckout(folder, { repository, ref: 'v1' }).check(host)).toMatchObject({
    change: { message: `${folder} is a directory, and a Git checkout has to be there` },
  });
});

test('nothing of a folder of another user is run, and no checkout is made there', async () => {
  const [home, ran] = [join(directory, 'home'), join(directory, 'ran')];
  chmodSync(directory, 0o755);
  mkdirSync(join(home, 'tools'), { recursive: true });
  execFileSync('git', ['init', '--quiet', join(home, 'tools')]);
  writeFileSync(
    join(home, 'tools/.git/config'),
    `[core]\nfsmonitor = touch ${ran}; false\n[remote "origin"]\nurl = ${repository}\n`,
  );
  // The folder of a user, with a checkout of root's in it: Git itself trusts that one.
  chownSync(home, 64_244, 64_244);
  for (const name of ['tools', 'new']) {
    const checkout = gitCheckout(join(home, name), { repository, ref: 'v1' });
    expect(await checkout.check(host)).toMatchObject({
      note: `${join(home, name)} is not used: user 64244 can change the names in ${home}, and root would follow them. Choose a path in a folder that only root can change`,
      change: { hint: "root would run that user's hooks: choose a folder of root's, such as /opt" },
    });
  }
  expect([existsSync(ran), readdirSync(home)]).toEqual([false, ['tools']]);
});

test('it waits for git', async () => {
  expect(await gitCheckout('/opt/tools', { repository, ref: 'v1' }).check(fakeHost([]))).toEqual({
    is: 'unknown',
    until: 'git is installed',
  });
});
