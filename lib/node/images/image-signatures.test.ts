import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { standInFor } from '../../engine/host/testing/local-connection.ts';
import { describeVerdict, drift } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { startPrivateRegistry } from '../testing/private-registry.ts';
import { publicKey } from '../variables/value-types.ts';
import type { Variables } from '../variables/variables.ts';
import { imagesAreSigned } from './image-signatures.ts';

const script = new URL('../../../templates/host/ask-registry.sh', import.meta.url).pathname;
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

test('a registry is asked for signatures with the certificates of the engine', async () => {
  const { url, certificates } = await startPrivateRegistry();
  const asked = (folder: string) =>
    promisify(execFile)('sh', ['-c', `echo ${url} | sh ${script} any/any 1000 5 ${folder}`]);
  expect((await asked(certificates)).stdout).toMatch(/^HTTP\/1.1 200 OK\r\n.*\{\}$/s);
  await expect(asked('/nowhere')).rejects.toMatchObject({ stderr: expect.stringContaining('certificate') });

  const vars = { images: { node: `r.example:5000/node@${digest}` }, image_keys: { node: 'any' } };
  const [resource] = imagesAreSigned(vars as unknown as Variables, ['node']);
  const host = fakeHost([
    [/ask-registry .* \/etc\/docker\/certs\.d\/r\.example:5000$/s, 'HTTP/1.1 404 Not Found\n\n'],
  ]);
  expect(await resource?.check(host)).toEqual(drift(`r.example:5000 has no signature of ${digest}`));
});

test('a registry is asked for signatures by the proxy of the engine, but where that leaves it out', async () => {
  const asked: (string | undefined)[] = [];
  const proxy = createServer(({ url }, response) => {
    asked.push(url);
    response.end('{}');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const own = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  standInFor('systemctl', '[ "$*" = "is-active --quiet docker.service" ]');
  standInFor('docker', `echo '${own} http://127.0.0.1:9 .corp.example,10.0.0.0/8'`);
  const ask = async (url: string) =>
    (await promisify(execFile)('sh', ['-c', `echo ${url} | sh ${script} any/any 1000 5 /nowhere`])).stdout;
  expect(await ask('http://r.example/v2/x')).toMatch(/^HTTP\/1.1 200 OK\r\n.*\{\}$/s);
  await expect(ask('http://r.corp.example/v2/x')).rejects.toMatchObject({
    stderr: expect.stringContaining('Could not resolve host: r.corp.example'),
  });
  expect(new Set(asked)).toEqual(new Set(['http://r.example/v2/x']));
});

test('what is no public key says what to copy', () => {
  expect(publicKey.safeParse('cosign.pub').error?.issues[0]?.message).toContain(
    'copy cosign.pub, and write | after the name of the key; a private key never belongs here',
  );
});
