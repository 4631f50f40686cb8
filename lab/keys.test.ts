import ssh2 from 'ssh2';
import { expect, onTestFinished, test, vi } from 'vitest';
import { newKeyPair } from './keys.mjs';

test('a pair that the library itself cannot read is made again', () => {
  const generate = vi.spyOn(ssh2.utils, 'generateKeyPairSync');
  onTestFinished(() => generate.mockRestore());
  generate.mockReturnValueOnce({ private: 'damaged', public: 'damaged' });
  expect(ssh2.utils.parseKey(newKeyPair('x').private)).not.toBeInstanceOf(Error);
  expect(generate).toHaveBeenCalledTimes(2);
});

// One public key of 256 begins with a zero.
test('every new key pair is valid, also with a public key that begins with a zero', () => {
  for (let i = 0; i < 300; i += 1)
    expect(ssh2.utils.parseKey(newKeyPair('x').private)).not.toBeInstanceOf(Error);
});
