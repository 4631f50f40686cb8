import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { dockerImage } from '../../lib/engine/resource/docker/docker-image.ts';
import { describeVerdict, type Resource } from '../../lib/engine/resource/resource.ts';
import { fakeHost, stoppedUnit } from '../../lib/engine/resource/testing/fake-host.ts';
import { thisMachine } from '../../lib/engine/resource/testing/this-machine.ts';
import { recoverySettings } from '../../lib/node/backup/settings.ts';
import { signedImage } from '../../lib/node/images/image-signatures.ts';
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
    'the image has not been pulled; get digest and key from the publisher of the image, and try: cosign verify --key cosign.pub NAME@DIGEST',
  ]);
});

test('a registry that is away is named', async () => {
  expect(await asked({ address: '127.0.0.1:1' }, none, newKeys().public)).toMatch(
    /^127\.0\.0\.1:1 does not answer: Failed to connect/,
  );
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

const engine = { unit: async () => ({ ...stoppedUnit, active: 'active' }) };
const signedNames = ['node', 'prover', 'database'] as const;
const text = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  type: 'spki',
  format: 'pem',
});
const backups: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.41' } }],
  [['vars', 'backup'], { password: 'env:REPLICA_PASSWORD' }],
];

/** All images have a key. */
const allKeys: Changes = [
  ...signedNames.map((name): Changes[number] => [['vars', 'images', name], `r.example/${name}@${none}`]),
  [['vars', 'image_keys'], Object.fromEntries(signedNames.map((name) => [name, text]))],
];

/** The images of a role, and what a host says to each that has none of them. */
async function saidByImages(
  name: string,
  group: 'database' | 'rpc' | 'replica' | 'backup',
  changes: Changes,
  registry: string,
) {
  const { default: role } = await import(`../../roles/${name}.ts`);
  const own = [...(group === 'replica' ? replica : []), ...(group === 'backup' ? backups : [])];
  const context = await contextOf({ changes: [...changes, ...own], group });
  const resources: Resource[] = await role.resources(context);
  const found = resources.filter((each) => each.name.startsWith('image r.example/'));
  const host = fakeHost(
    [
      [/ask-registry/, registry],
      [/docker image inspect/, { exitCode: 1 }],
    ],
    engine,
  );
  return await Promise.all(found.map(async (each) => describeVerdict(await each.check(host))));
}

const pulls = [
  ['state-db', 'database', 1],
  ['pool-db', 'database', 1],
  ['prover', 'database', 1],
  ['sync', 'database', 1],
  ['images', 'database', 3],
  ['snapshot', 'database', 3],
  ['json-rpc', 'rpc', 1],
  ['database-reachable', 'rpc', 1],
  ['replica', 'replica', 1],
  ['backup', 'backup', 1],
] as const;

// In a recovery and with --role there is no role before it that would ask.
test.each(pulls)(
  'role %s on a host of %s pulls no image that its key has not signed',
  async (name, group, count) => {
    const answer = 'HTTP/1.1 404 Not Found\n\n';
    const unsigned = await saidByImages(name, group, allKeys, answer);
    expect(unsigned).toHaveLength(count);
    for (const said of unsigned) expect(said).toContain('is signed by the key of image_keys.');
    const without = await saidByImages(name, group, allKeys, 'connected\n');
    expect(without).toEqual(unsigned.map(() => 'unknown until curl is installed'));
  },
);

test('the words at a pull name the key and what to do', async () => {
  const registry = await startRegistry();
  const { public: key, private: own } = newKeys();
  const digest = await pushImage(registry);
  const { vars } = await contextOf(given(registry, digest, key));
  const image = signedImage(vars, 'node');
  const host = await thisMachine();
  const pulling = Object.assign(Object.create(host), engine);
  expect(await refusal([image], image.name, pulling)).toEqual([
    `${title}: ${registry.address} has no signature of ${digest}`,
    'the image has not been pulled; get digest and key from the publisher of the image, and try: cosign verify --key cosign.pub NAME@DIGEST',
  ]);
  await attach(registry, digest, [await signature(registry, own, digest)]);
  expect(await image.check(pulling)).toEqual(await dockerImage(vars.images.node).check(pulling));
});

test('an image of a release is pulled by its digest if that is signed, and kept without a question', async () => {
  const { vars } = await contextOf({ changes: allKeys });
  const [old, id] = [`r.example/node@sha256:${'1'.repeat(64)}`, 'sha256:old'];
  const ask: [RegExp, string] = [/ask-registry .*/, 'HTTP/1.1 404 Not Found\n\n'];
  const verdict = (digest: string | undefined, kept: boolean) =>
    signedImage(vars, 'node', 'r.example/node:v1', { id, digest }).check(
      fakeHost([ask, ...(kept ? [[/inspect .* sha256:old$/, id] as const] : [])], engine),
    );
  expect(describeVerdict(await verdict(old, false))).toContain(`no signature of sha256:${'1'.repeat(64)}`);
  expect(await verdict(old, true)).toMatchObject({
    change: [{ command: `docker tag ${id} r.example/node:v1` }],
  });
  expect(describeVerdict(await verdict(undefined, false))).not.toContain('signature');
});

test('images that are there are used while their registry is away', async () => {
  const resources = await preflight.resources(await contextOf({ changes: allKeys }));
  const signed = resources.filter(({ name }) => name.includes('is signed by'));
  const away = { exitCode: 7, stderr: 'Failed to connect' };
  const verdicts = (inspect: string | { exitCode: number }) => {
    const host = fakeHost(
      [
        [/ask-registry/, away],
        [/docker image inspect/, inspect],
      ],
      engine,
    );
    return Promise.all(signed.map(async (each) => describeVerdict(await each.check(host))));
  };
  expect(await verdicts('sha256:any\n')).toEqual(['ok', 'ok', 'ok']);
  const lost = 'r.example does not answer: Failed to connect';
  expect(await verdicts({ exitCode: 1 })).toEqual([lost, lost, lost]);
});

test('a drill by the clock pulls nothing where the image has a key', async () => {
  const settings = async (changes: Changes) =>
    recoverySettings(await contextOf({ changes, group: 'database' }));
  const drifts = async (changes: Changes) =>
    JSON.stringify(await (await settings(changes)).check(fakeHost([])), (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : value,
    );
  expect(await drifts(allKeys)).toContain('PULL');
  expect(await drifts([])).not.toContain('PULL');
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
