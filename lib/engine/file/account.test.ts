import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { account } from './account.ts';
import { readPrivateFile } from './private-file.ts';

test('a number without an account is refused in words, where a name is needed', async () => {
  expect(account()).toMatchObject({ uid: process.getuid?.() });
  const { userInfo } = os;
  onTestFinished(() => {
    os.userInfo = userInfo;
    syncBuiltinESMExports();
  });
  os.userInfo = () => {
    throw new Error('A system error occurred: uv_os_get_passwd returned ENOENT (no such file or directory)');
  };
  syncBuiltinESMExports();
  expect(account).toThrow(`user number ${process.getuid?.()} has no entry in /etc/passwd, and ssh needs one`);
  const file = join(temporaryDirectory(), 'password');
  writeFileSync(file, 'Passw0rd', { mode: 0o600 });
  expect(await readPrivateFile(file, 100)).toBe('Passw0rd');
});
