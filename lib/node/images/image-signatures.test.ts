import { expect, test } from 'vitest';
import { describeVerdict } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { publicKey } from '../variables/value-types.ts';
import type { Variables } from '../variables/variables.ts';
import { imagesAreSigned } from './image-signatures.ts';

const digest = `sha256:${'0'.repeat(64)}`;

test.each([
  [
    `r.example/node@${digest}`,
    'HTTP/1.1 401 Unauthorized\n\n',
    'r.example answers HTTP 401: it shows signatures only after a login',
  ],
  [`r.example/node@${digest}`, 'HTTP/1.1 500 Oh\n\n', 'r.example answers HTTP 500'],
  ['r.example/node:v1', '', 'its name has no digest, and a signature is of a digest'],
])('an image is refused whose signatures cannot be read: %s %j', async (node, answer, words) => {
  const vars = { images: { node }, image_keys: { node: 'any' } } as unknown as Variables;
  const [resource] = imagesAreSigned(vars, ['node', 'prover']);
  const verdict = await resource?.check(fakeHost([[/ask-registry/, answer]]));
  expect(verdict && describeVerdict(verdict)).toBe(words);
});

test('what is no public key says what to copy', () => {
  expect(publicKey.safeParse('cosign.pub').error?.issues[0]?.message).toContain(
    'copy cosign.pub, and write | after the name of the key; a private key never belongs here',
  );
});
