import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256Of } from '../../resource/file/content.ts';
import { line } from '../../resource/file/line.ts';
import { thisMachine } from '../../resource/testing/this-machine.ts';
import { createReader } from '../reader.ts';
import { connectLocally, directoryForAll, standInFor } from '../testing/local-connection.ts';

const host = await thisMachine();
const top = directoryForAll();
chmodSync(top, 0o755);
/** No account has it. */
const user = 64_243;

const home = join(top, 'home');
const at = (name: string) => join(home, name);
mkdirSync(home);
mkdirSync(join(top, 'root'), { mode: 0o700 });
writeFileSync(join(top, 'root/secret'), 'of root\n', { mode: 0o600 });
writeFileSync(join(top, 'public'), 'for everybody\n');
writeFileSync(at('plain'), 'plain\n');
writeFileSync(at('of-root'), 'in it\n', { mode: 0o600 });
const links = {
  'to-secret': '../root/secret',
  'to-public': '../public',
  'to-plain': 'plain',
  'to-folder': '../root',
  'to-nothing': 'nothing',
};
for (const [name, target] of Object.entries(links)) {
  symlinkSync(target, at(name));
  lchownSync(at(name), user, user);
}
symlinkSync('home/to-secret', join(top, 'link'));
symlinkSync('public', join(top, 'own-link'));
for (const path of [home, at('plain')]) chownSync(path, user, user);

const read = async (path: string) => (await host.read(path))?.toString();

test('what a link of another user leads to is read with the rights of that user', async () => {
  expect(
    await Promise.all(
      ['plain', 'of-root', 'to-public', 'to-plain', 'to-nothing'].map((name) => read(at(name))),
    ),
  ).toEqual(['plain\n', 'in it\n', 'for everybody\n', 'plain\n', undefined]);
  expect(await read(join(top, 'own-link'))).toBe('for everybody\n');
});

test("a file of root's is not read by a link of another user, and other reads of the request answer", async () => {
  const secrets = [at('to-secret'), at('to-folder/secret'), join(top, 'link')];
  const answers = await Promise.allSettled([...secrets, at('plain'), '/etc/passwd'].map(read));
  expect(answers.map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  for (const path of secrets) await expect(host.read(path)).rejects.toThrow(`${path} cannot be read: `);
  await expect(host.compare(at('to-secret'), sha256Of('other'), 1000)).rejects.toThrow('Permission denied');
  await expect(line(at('to-secret'), 'more').check(host)).rejects.toThrow('Permission denied');
});

test('in a folder of a group, no link is followed', async () => {
  const folder = join(top, 'shared');
  mkdirSync(folder);
  chownSync(folder, 0, user);
  chmodSync(folder, 0o775);
  symlinkSync(join(top, 'public'), join(folder, 'link'));
  writeFileSync(join(folder, 'file'), 'text\n');
  expect(await read(join(folder, 'file'))).toBe('text\n');
  await expect(read(join(folder, 'link'))).rejects.toThrow(
    `${folder}/link is not read: group 64243 can change the names in ${folder}, and there is a link on the way to it`,
  );
});

test('a pipe that takes the place of a file just before it is opened does not hold the reads of a request', async () => {
  const names = ['swapped', 'back\\slash', 'large'];
  for (const name of names) writeFileSync(at(name), name);
  // As another process would do between the look and the open.
  const swap = `case "$*" in *${at('swapped')}*) rm -f ${at('swapped')}; mkfifo ${at('swapped')} ;; esac`;
  for (const program of ['sha256sum', 'wc'])
    standInFor(program, `${swap}\nPATH=\${PATH#*:}\nexec ${program} "$@"`);
  const own = createReader(await connectLocally(), 'here');
  const started = performance.now();
  const files = [...names.map(at), '/etc/passwd'];
  const sums = await Promise.all(files.map((file) => own.sha256(file)));
  expect(sums).toEqual([
    undefined,
    sha256Of('back\\slash'),
    sha256Of('large'),
    sha256Of(readFileSync('/etc/passwd')),
  ]);
  rmSync(at('swapped'));
  writeFileSync(at('swapped'), 'swapped');
  const compared = await Promise.all(
    names.map((name) => own.compare(at(name), sha256Of(name === 'large' ? 'other' : name), 1000)),
  );
  expect(compared).toEqual([
    { same: false, content: undefined },
    { same: true },
    { same: false, content: Buffer.from('large') },
  ]);
  expect(performance.now() - started).toBeLessThan(30_000);
}, 100_000);
