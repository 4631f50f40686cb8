import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { describeVerdict } from '../../lib/engine/resource/resource.ts';
import { fakeHost } from '../../lib/engine/resource/testing/fake-host.ts';
import { thisMachine } from '../../lib/engine/resource/testing/this-machine.ts';
import type { Changes } from '../../lib/node/testing/lab-deployment.ts';
import { contextOf, refusal } from '../../lib/node/testing/role-context.ts';
import images from '../../roles/images.ts';
import preflight from '../../roles/preflight.ts';
import { type Registry, startRegistry } from './registry.ts';

const title = 'images.node is signed by the key of image_keys.node';
const repository = 'owner/node';
const none = `sha256:${'0'.repeat(64)}`;

/** A pair of keys as cosign makes it: paths of the files. */
function newKeys(curve = 'P-256') {
  const folder = temporaryDirectory();
  const pair = { private: join(folder, 'cosign.key'), public: join(folder, 'cosign.pub') };
  const kind = ['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`];
  execFileSync('openssl', ['genpkey', ...kind, '-out', pair.private], { stdio: 'ignore' });
  execFileSync('openssl', ['pkey', '-in', pair.private, '-pubout', '-out', pair.public]);
  return pair;
}

/** An image in the registry, of which only the manifest is read: its digest. */
async function pushImage(registry: Registry, text = '{}'): Promise<string> {
  const config = await registry.pushBlob(repository, Buffer.from(text));
  const mediaType = 'application/vnd.oci.image.config.v1+json';
  return registry.push(repository, 'v3.1.0', {
    schemaVersion: 2,
    config: { mediaType, size: text.length, digest: config },
    layers: [],
  });
}

/**
 * What `cosign sign --key` writes, with openssl. cosign's payload ends with no newline.
 *
 * @param named the digest in what is signed
 */
async function signature(registry: Registry, key: string, named: string, end = '') {
  const identity = { 'docker-reference': `${registry.address}/${repository}` };
  const type = 'cosign container image signature';
  const critical = { identity, image: { 'docker-manifest-digest': named }, type };
  const payload = Buffer.from(JSON.stringify({ critical, optional: null }) + end);
  const file = join(temporaryDirectory(), 'payload');
  writeFileSync(file, payload);
  const signed = execFileSync('openssl', ['dgst', '-sha256', '-sign', key, file]);
  return {
    mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json',
    size: payload.length,
    digest: await registry.pushBlob(repository, payload),
    annotations: { 'dev.cosignproject.cosign/signature': signed.toString('base64') },
  };
}

async function attach(registry: Registry, digest: string, layers: readonly object[]) {
  const config = await registry.pushBlob(repository, Buffer.from('{}'));
  const mediaType = 'application/vnd.oci.image.config.v1+json';
  await registry.push(repository, `${digest.replace(':', '-')}.sig`, {
    schemaVersion: 2,
    config: { mediaType, size: 2, digest: config },
    layers,
  });
}

function given({ address }: Pick<Registry, 'address'>, digest: string, key: string): { changes: Changes } {
  return {
    changes: [
      [['vars', 'images', 'node'], `${address}/${repository}:v3.1.0@${digest}`],
      [['vars', 'registry'], { address, insecure: true }],
      [['vars', 'image_keys'], { node: readFileSync(key, 'utf8') }],
    ],
  };
}

async function asked(registry: Pick<Registry, 'address'>, digest: string, key: string) {
  const resources = await preflight.resources(await contextOf(given(registry, digest, key)));
  const resource = resources.find(({ name }) => name === title);
  const verdict = await resource?.check(await thisMachine());
  return verdict && describeVerdict(verdict);
}

test.each([false, true])('an image is used if its key has signed it; with tokens: %s', async (tokens) => {
  const registry = await startRegistry({ tokens });
  const [ours, theirs] = [newKeys(), newKeys()];
  const digest = await pushImage(registry);
  expect(await asked(registry, digest, ours.public)).toBe(
    `${registry.address} has no signature of ${digest}`,
  );

  await attach(registry, digest, []);
  expect(await asked(registry, digest, ours.public)).toMatch(
    / has no signature by cosign in manifests\/sha256-/,
  );

  const byThem = await signature(registry, theirs.private, digest);
  await attach(registry, digest, [byThem]);
  expect(await asked(registry, digest, ours.public)).toBe('none of its signatures is by this key');

  // The signature of another image, moved to this one.
  await attach(registry, digest, [await signature(registry, ours.private, none)]);
  expect(await asked(registry, digest, ours.public)).toBe(
    `this key has signed only another image there: ${none}`,
  );

  // Ours, but on the payload that they have signed.
  const byUs = await signature(registry, ours.private, digest, '\n');
  await attach(registry, digest, [{ ...byUs, digest: byThem.digest, size: byThem.size }]);
  expect(await asked(registry, digest, ours.public)).toBe('none of its signatures is by this key');

  await attach(registry, digest, [byThem, byUs]);
  expect(await asked(registry, digest, ours.public)).toBe('ok');
  expect(await asked(registry, digest, theirs.public)).toBe('ok');
});

test('a refusal fails the host before its other roles, with what to do', async () => {
  const registry = await startRegistry();
  const { public: key } = newKeys();
  const digest = await pushImage(registry);
  const resources = await preflight.resources(await contextOf(given(registry, digest, key)));
  expect(await refusal(resources, title, await thisMachine())).toEqual([
    `${title}: ${registry.address} has no signature of ${digest}`,
    'nothing has been pulled or stopped; get digest and key from the publisher of the image, and try: cosign verify --key cosign.pub NAME@DIGEST',
  ]);
});

test('a registry that is away is named', async () => {
  expect(await asked({ address: '127.0.0.1:1' }, none, newKeys().public)).toMatch(
    /^127\.0\.0\.1:1 does not answer: Failed to connect/,
  );
});

test('a host without curl is asked before it pulls the image', async () => {
  const context = await contextOf(given({ address: '127.0.0.1:1' }, none, newKeys().public));
  const host = fakeHost([
    [/ask-registry/, 'connected\n'],
    [/docker/, { exitCode: 1 }],
  ]);
  const verdicts = [preflight, images].map(async (role) => {
    const all = await role.resources(context);
    const at = all.findIndex(({ name }) => name === title);
    const pull = all.findIndex(({ name }) => name.startsWith('image 127.0.0.1:1/'));
    const verdict = await all[at]?.check(host);
    return [verdict && describeVerdict(verdict), at < pull];
  });
  expect(await Promise.all(verdicts)).toEqual([
    ['ok', false],
    ['unknown until curl is installed', true],
  ]);
});

process.env.REPLICA_PASSWORD = 'replica.Pw~5';
const replica: Changes = [
  [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
  [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
];

test.each([
  ['database', ['node', 'prover', 'database']],
  ['rpc', ['node', 'prover', 'database']],
  ['replica', ['database']],
] as const)('a host of the group %s asks for the images that it uses', async (group, names) => {
  const all = ['node', 'prover', 'database'];
  const text = readFileSync(newKeys().public, 'utf8');
  const changes: Changes = [
    ...all.map((name): Changes[number] => [['vars', 'images', name], `r.example/${name}@${none}`]),
    [['vars', 'image_keys'], Object.fromEntries(all.map((name) => [name, text]))],
    ...(group === 'replica' ? replica : []),
  ];
  const resources = await preflight.resources(await contextOf({ changes, group }));
  const asked = resources.flatMap(({ name }) => /^images\.(\w+) is signed/.exec(name)?.[1] ?? []);
  expect(asked).toEqual(names);
});

test('an inventory without keys asks for no signature', async () => {
  const all = await Promise.all([preflight, images].map(async (role) => role.resources(await contextOf({}))));
  expect(all.flat().filter(({ name }) => name.includes('signed'))).toEqual([]);
});

test('a key of another kind, a private key, and an image without a digest are refused where they stand', async () => {
  const ours = newKeys();
  const load = (key: string, image = `r.example/node@${none}`) =>
    contextOf({
      changes: [
        [['vars', 'images', 'node'], image],
        [['vars', 'image_keys'], { node: readFileSync(key, 'utf8') }],
      ],
    });
  await expect(load(newKeys('P-384').public)).rejects.toThrow('image_keys.node must be a public key');
  const refused = await load(ours.private).catch((error: unknown) => String(error));
  expect(refused).not.toContain(readFileSync(ours.private, 'utf8').split('\n')[1]);
  await expect(load(ours.private)).rejects.toThrow('image_keys.node must be a public key');
  await expect(load(ours.public, 'r.example/node:v3.1.0')).rejects.toThrow(
    'images.node has no digest, and image_keys.node is there: a signature is of a digest',
  );
});
