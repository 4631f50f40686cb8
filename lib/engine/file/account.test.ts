import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { account } from './account.ts';

test('a number without an account is refused in words', () => {
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
});
