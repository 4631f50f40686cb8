import ssh2 from 'ssh2';
import { expect, test } from 'vitest';
import { newKeyPair } from './keys.mjs';

test('every new key pair is valid, also with a public key that begins with a zero', () => {
  for (let i = 0; i < 1500; i += 1) expect(ssh2.utils.parseKey(newKeyPair('x').private)).not.toBeInstanceOf(Error);
});
