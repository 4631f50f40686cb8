import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { asUser } from '../../file/testing/other-users.ts';
import { temporaryDirectory } from '../testing/local-connection.ts';
import { refuseUnreadableConfig } from './unreadable-config.ts';

let own: string;
let system: string;
beforeEach(() => {
  const folder = temporaryDirectory();
  chmodSync(folder, 0o755);
  [own, system] = [join(folder, 'own'), join(folder, 'system')];
  for (const each of [own, system]) mkdirSync(each);
});

/** What is said of db-1; undefined where nothing is refused. */
function refused(): string | undefined {
  try {
    refuseUnreadableConfig('db-1', own, system);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
const passedOver = (what: string) =>
  expect.stringContaining(`ssh passes over a part of its configuration without a word: ${what}`);

/** Root may read everything. */
const refusedToUser = () => asUser(1234, refused);
const isRoot = process.geteuid?.() === 0;

test('what is not there, and what can be read, is no obstacle', () => {
  expect(refused()).toBeUndefined();
  writeFileSync(join(own, 'config'), 'Include none/*.conf\nHost a\n  User b\n');
  expect(refused()).toBeUndefined();
});

test('a folder in place of the file is named', () => {
  mkdirSync(join(own, 'config'));
  expect(refused()).toEqual(passedOver(`${join(own, 'config')} is a folder`));
});

test.skipIf(!isRoot)('a file of root alone is named, as sudo leaves one', () => {
  writeFileSync(join(own, 'config'), 'Host *\n  ProxyJump bastion\n', { mode: 0o600 });
  expect(refusedToUser()).toEqual(passedOver(`${join(own, 'config')} cannot be read (EACCES)`));
  chmodSync(join(own, 'config'), 0o644);
  chmodSync(own, 0o700);
  expect(refusedToUser()).toEqual(passedOver(`${join(own, 'config')} cannot be read (EACCES)`));
});

test.skipIf(!isRoot)('a folder that a file includes by a wildcard is named', () => {
  mkdirSync(join(system, 'more.d'), { mode: 0o700 });
  writeFileSync(join(system, 'ssh_config'), 'Include more.d/*.conf "other.d/*"\n');
  expect(refusedToUser()).toEqual(
    passedOver(
      `${join(system, 'more.d')}, which ${join(system, 'ssh_config')} includes, cannot be read (EACCES)`,
    ),
  );
});
