import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { sha256Of } from '../../resource/file/content.ts';
import { line } from '../../resource/file/line.ts';
import { thisMachine } from '../../resource/testing/this-machine.ts';

const host = await thisMachine();
const top = mkdtempSync(join(tmpdir(), 'other-users-links-'));
chmodSync(top, 0o755);
afterAll(() => rmSync(top, { recursive: true }));
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
    await Promise.all(['plain', 'of-root', 'to-public', 'to-plain', 'to-nothing'].map((name) => read(at(name)))),
  ).toEqual(['plain\n', 'in it\n', 'for everybody\n', 'plain\n', undefined]);
  expect(await read(join(top, 'own-link'))).toBe('for everybody\n');
});

test("a file of root's is not read by a link of another user, and other reads of the request answer", async () => {
  const secrets = [at('to-secret'), at('to-folder/secret'), join(top, 'link')];
  const answers = await Promise.allSettled([...secrets, at('plain'), '/etc/passwd'].map(read));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled', 'fulfilled']);
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
