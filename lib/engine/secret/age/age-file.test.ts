import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { armor, generateIdentity, identityToRecipient } from 'age-encryption';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../host/testing/local-connection.ts';
import { Problem } from '../../problem/problem.ts';
import type { Ask } from '../ask.ts';
import { littleWork, sshKey } from '../testing/keys.ts';
import { type AgeRecipient, decrypt, encrypt, readAgeFile as read } from './age-file.ts';
import { findIdentities } from './identities.ts';
import { parseRecipients } from './recipients.ts';

const canary = 'canary-hunter2\n';
const readIdentityFile = async (identity: string, ask: Ask | undefined) =>
  (await findIdentities({ identity, ask })).identities;
const readAgeFile = (content: Uint8Array) => read(content, 'FILE');
const toPassphrase = (text: string, passphrase: string) => encrypt(text, { passphrase }, littleWork);
const to = (text: string, recipients: readonly AgeRecipient[]) => encrypt(text, { recipients });

test('any text is decrypted unchanged, by passphrase and by identity', async () => {
  const identity = await generateIdentity();
  const recipient = await identityToRecipient(identity);
  const text = fc.string({ unit: 'grapheme', maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(text, fc.string({ minLength: 1 }), async (plain, passphrase) => {
      const byPassphrase = await readAgeFile(await toPassphrase(plain, passphrase));
      expect(await decrypt(byPassphrase, [], passphrase)).toBe(plain);
      expect(byPassphrase.recipients).toEqual(['scrypt']);
      const byIdentity = await readAgeFile(await to(plain, [recipient]));
      expect(await decrypt(byIdentity, [identity])).toBe(plain);
    }),
    { numRuns: 30 },
  );
});

test.each(['ed25519', 'rsa'] as const)(
  'an SSH key decrypts files for its public key, with a passphrase or without: %s',
  async (type) => {
    const folder = temporaryDirectory();
    const [open, locked, other] = [
      sshKey(folder, type),
      sshKey(folder, type, 'pass phrase'),
      sshKey(temporaryDirectory(), type),
    ];
    const recipients = await parseRecipients(`# both\n${open.public}\n\n${locked.public}\n`, 'r');
    const file = await readAgeFile(await to(canary, recipients));
    expect(file.recipients).toEqual([`ssh-${type}`, `ssh-${type}`]);
    expect(await decrypt(file, await readIdentityFile(open.path, undefined))).toBe(canary);

    const asked: string[] = [];
    const ask = async (question: string) => (asked.push(question) === 1 ? 'wrong' : 'pass phrase');
    expect(await decrypt(file, await readIdentityFile(locked.path, ask))).toBe(canary);
    expect(asked).toEqual([
      `passphrase of ${locked.path}: `,
      `that is not the passphrase of ${locked.path}; once more: `,
    ]);

    await expect(decrypt(file, await readIdentityFile(locked.path, undefined))).rejects.toThrow(
      'there is no terminal',
    );
    expect(await decrypt(file, await readIdentityFile(other.path, undefined))).toBeUndefined();
    // A passphrase is asked for only if the key can decrypt the file.
    const foreign = await readAgeFile(await to(canary, await parseRecipients(other.public, 'r')));
    expect(await decrypt(foreign, await readIdentityFile(locked.path, ask))).toBeUndefined();
    expect(asked).toHaveLength(2);
  },
);

test('a file of another format, a truncated or a changed one is reported as such, not as a wrong key, and its content is not shown', async () => {
  const identity = await generateIdentity();
  const bytes = await to(canary, [await identityToRecipient(identity)]);
  const result = async (content: Uint8Array) => {
    try {
      return await decrypt(await readAgeFile(content), [identity]);
    } catch (error) {
      expect(String(error)).not.toContain('hunter2');
      return error as Problem;
    }
  };
  const isDamaged = (error: unknown) =>
    error instanceof Problem && /^FILE is (empty|cut off|not a file in the age format)/.test(error.message);
  expect(await result(bytes)).toBe(canary);
  expect(await result(Buffer.from(armor.encode(bytes)))).toBe(canary);
  expect(await result(Buffer.from(''))).toMatchObject({ message: 'FILE is empty' });
  expect(await result(Buffer.from('name: value\n'))).toMatchObject({
    message: 'FILE is not a file in the age format',
    hint: 'take an older copy of the file, from git or a backup',
  });
  for (let length = 1; length < bytes.length; length += 7) {
    expect(isDamaged(await result(bytes.subarray(0, length))), `${length} bytes`).toBe(true);
  }
  expect(isDamaged(await result(Buffer.from(armor.encode(bytes).slice(0, -40))))).toBe(true);
  for (let at = 0; at < bytes.length; at += 3) {
    const changed = Uint8Array.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const error = await result(changed);
    expect(error === undefined || isDamaged(error), `byte ${at}: ${error}`).toBe(true);
  }
  const wrong = await readAgeFile(await toPassphrase(canary, 'right'));
  expect(await decrypt(wrong, [], 'wrong')).toBeUndefined();
});

test('a file that demands too much memory is refused', async () => {
  const bytes = await toPassphrase(canary, 'a');
  const greedy = Buffer.from(
    Buffer.from(bytes)
      .toString('latin1')
      .replace(/^(-> scrypt \S+) 2$/m, '$1 30'),
    'latin1',
  );
  await expect(decrypt(await readAgeFile(greedy), [], 'a')).rejects.toThrow(
    'FILE is cut off, or was changed',
  );
});

test('an identity file is refused with its line, and never quoted', async () => {
  const folder = temporaryDirectory();
  const refused = async (content: string) => {
    const path = join(folder, 'key');
    writeFileSync(path, content, { mode: 0o600 });
    const error = await readIdentityFile(path, undefined).then(
      () => expect.fail('was read'),
      (problem) => problem,
    );
    expect(`${error.message} ${error.hint}`).not.toContain('hunter2');
    return `${error.where?.line ?? ''} ${error.message.replace(path, 'FILE')}`;
  };
  expect(await refused('# made today\n\nAGE-SECRET-KEY-1HUNTER2hunter2\n')).toBe('3 this is not an identity');
  expect(await refused('hunter2')).toBe('1 this is not an identity');
  expect(await refused('AGE-PLUGIN-YUBIKEY-1hunter2')).toBe('1 identities of plugins cannot be used');
  expect(await refused('# nothing\n')).toBe(' FILE has no identity in it');
  expect(await refused('age-encryption.org/v1\n-> scrypt')).toBe(' FILE is itself encrypted');
  expect(
    await refused('-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2=\n-----END OPENSSH PRIVATE KEY-----\n'),
  ).toBe(' FILE is damaged');
  expect(await refused('-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\n')).toBe(
    ' FILE is not a private key of a supported type, or it is damaged',
  );
  expect(await refused(sshKey(folder, 'ed25519').public)).toBe(' FILE is a public key');
  expect(await refused(readFileSync(sshKey(folder, 'ecdsa').path, 'utf8'))).toBe(
    ' FILE is of the type ecdsa-sha2-nistp256: only ssh-ed25519 and ssh-rsa can be used',
  );
});

test('recipients are refused with line and column, all at once', async () => {
  const folder = temporaryDirectory();
  const { public: weak } = sshKey(folder, 'rsa', undefined, 1024);
  const lines = [
    '# ok',
    '  age1hunter2',
    sshKey(folder, 'ecdsa').public,
    'ssh-ed25519 AAAA',
    'anna',
    'AGE-SECRET-KEY-1HUNTER2',
    weak,
    // Its one field is too short for a key.
    `ssh-ed25519 ${Buffer.from('\0\0\0\x0bssh-ed25519\0\0\0\x01a').toString('base64')}`,
    // Points that are not on the curve, or that give everybody the same shared secret.
    `ssh-ed25519 ${Buffer.from(`\0\0\0\x0bssh-ed25519\0\0\0\x20\x02${'\0'.repeat(31)}`).toString('base64')}`,
    `ssh-ed25519 ${Buffer.from(`\0\0\0\x0bssh-ed25519\0\0\0\x20${'\0'.repeat(32)}`).toString('base64')}`,
    // Its modulus is empty.
    `ssh-rsa ${Buffer.from('\0\0\0\x07ssh-rsa\0\0\0\x01\x03\0\0\0\0').toString('base64')}`,
  ];
  const error = await parseRecipients(lines.join('\n'), 'r').then(
    () => expect.fail('was read'),
    (problems) => problems,
  );
  expect(error.message.split('\n').filter((line: string) => line.startsWith('r:'))).toEqual([
    'r:2:3: this recipient of age is misspelt',
    'r:3:1: this key is of the type ecdsa-sha2-nistp256: only ssh-ed25519 and ssh-rsa can be used',
    'r:4:1: this key is not a public key of SSH, or is damaged',
    'r:5:1: this is not a recipient',
    'r:6:1: this is a private key: everybody who can read this file can decrypt the secrets',
    'r:7:1: this key has 1024 bits, and at least 2048 are needed',
    ...[8, 9, 10, 11].map((line) => `r:${line}:1: this key is not a public key of SSH, or is damaged`),
  ]);
  expect(error.message).not.toContain('HUNTER2');
  await expect(parseRecipients('# nobody\n', 'r')).rejects.toThrow('this file has no recipients');
});

const age = spawnSync('age', ['--version']).status === 0;

describe.skipIf(!age)("the age program (Debian's package age)", () => {
  const files = async () => {
    const folder = temporaryDirectory();
    const native = join(folder, 'native');
    const identity = await generateIdentity();
    writeFileSync(native, `# a comment\n${identity}\n`, { mode: 0o600 });
    const pairs = [
      { path: native, public: await identityToRecipient(identity) },
      sshKey(folder, 'ed25519'),
      sshKey(folder, 'rsa'),
    ];
    const recipients = join(folder, 'recipients');
    writeFileSync(recipients, `# all\n${pairs.map((pair) => pair.public).join('\n')}\n`);
    return { folder, paths: pairs.map(({ path }) => path), recipients };
  };

  test('decrypts our files, with an identity and with SSH keys', async () => {
    const { folder, paths, recipients } = await files();
    const file = join(folder, 'a.age');
    writeFileSync(
      file,
      await to(canary, await parseRecipients(readFileSync(recipients, 'utf8'), recipients)),
    );
    for (const path of paths) expect(execFileSync('age', ['-d', '-i', path, file]).toString()).toBe(canary);
  });

  test('encrypts files that we decrypt, armoured or not', async () => {
    const { paths, recipients } = await files();
    for (const armour of [[], ['--armor']]) {
      const file = await readAgeFile(execFileSync('age', [...armour, '-R', recipients], { input: canary }));
      for (const path of paths)
        expect(await decrypt(file, await readIdentityFile(path, undefined))).toBe(canary);
    }
  });
});
