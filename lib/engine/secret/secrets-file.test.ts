import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { describeProblem, Problem } from '../problem/problem.ts';
import { decrypt, encrypt, readAgeFile } from './age/age-file.ts';
import { findIdentities, type Keys } from './age/identities.ts';
import { redact } from './secret.ts';
import { openSecretsFile, readRecipients, replaceSecretsFile, secretsFileOf } from './secrets-file.ts';
import { littleWork, sshKey } from './testing/keys.ts';
import { unlocker } from './unlock.ts';

const text = 'state_db_password: canary-sesame9\nprevious: { state_db_password: former-sesame9 }\n';
const nobody = { environment: {}, home: '/nowhere' } satisfies Keys;

async function locked(passphrase = 'pass phrase', content = text) {
  const folder = temporaryDirectory();
  const file = join(folder, 'prod.secrets.age');
  writeFileSync(file, await encrypt(content, { passphrase }, littleWork));
  return { folder, file };
}

async function refusal(file: string, keys: Keys): Promise<string> {
  const error = await openSecretsFile(file, keys).then(
    () => expect.fail('was opened'),
    (problem) => problem,
  );
  if (!(error instanceof Problem)) throw error;
  const said = describeProblem(error);
  expect(said).not.toContain('sesame9');
  return said.replaceAll(file, 'FILE');
}

test('a passphrase is read from the environment, or asked for at most three times', async () => {
  const { file } = await locked();
  const environment = { RPC_PLAYBOOKS_PASSPHRASE: 'pass phrase' };
  expect((await openSecretsFile(file, { ...nobody, environment })).text).toBe(text);
  const asked: string[] = [];
  const keys: Keys = {
    ...nobody,
    ask: async (question) => (asked.push(question) === 3 ? 'pass phrase' : 'wrong'),
  };
  expect((await openSecretsFile(file, keys)).text).toBe(text);
  expect(asked[0]).toBe(`passphrase of ${file}: `);
  expect(asked[2]).toBe(`that passphrase does not open ${file}; once more: `);

  expect(await refusal(file, { ...nobody, ask: async () => 'wrong' })).toBe(
    'that passphrase does not open FILE',
  );
  expect(await refusal(file, { ...nobody, environment: { RPC_PLAYBOOKS_PASSPHRASE: 'wrong' } })).toBe(
    'the passphrase in RPC_PLAYBOOKS_PASSPHRASE does not open FILE\n  unset RPC_PLAYBOOKS_PASSPHRASE to be asked for the passphrase',
  );
  expect(await refusal(file, nobody)).toBe(
    'FILE needs its passphrase, and there is no terminal to ask for it on\n  export RPC_PLAYBOOKS_PASSPHRASE before the run',
  );
});

test("an identity is the named one, that of the environment, or the user's own", async () => {
  const folder = temporaryDirectory();
  const home = join(folder, 'home');
  mkdirSync(join(home, '.ssh'), { recursive: true });
  mkdirSync(join(home, '.config/sops/age'), { recursive: true });
  const identity = await generateIdentity();
  const native = join(folder, 'key');
  writeFileSync(native, `${identity}\n`, { mode: 0o600 });
  const file = join(folder, 'prod.secrets.age');
  writeFileSync(file, await encrypt(text, { recipients: [await identityToRecipient(identity)] }));
  const opened = async (keys: Keys) => (await openSecretsFile(file, { ...nobody, home, ...keys })).text;

  expect(await opened({ identity: native })).toBe(text);
  expect(await opened({ environment: { RPC_PLAYBOOKS_IDENTITY: native } })).toBe(text);
  expect(await opened({ environment: { RPC_PLAYBOOKS_IDENTITY: identity } })).toBe(text);
  expect(await refusal(file, { ...nobody, home })).toMatch(
    /^no available identity opens FILE\n {2}name another identity, by --identity FILE/,
  );

  const ssh = sshKey(join(home, '.ssh'), 'ed25519');
  expect(await refusal(file, { ...nobody, home })).toContain('opens FILE; checked ~/.ssh/id_ed25519\n');
  chmodSync(ssh.path, 0o644);
  expect(await refusal(file, { ...nobody, home })).toContain(
    'checked ~/.ssh/id_ed25519 (has mode 0644; a secret must be 0600 or stricter)',
  );
  const sops = join(home, '.config/sops/age/keys.txt');
  writeFileSync(sops, identity, { mode: 0o600 });
  expect(await opened({})).toBe(text);

  // A public key may be world-readable: the error is that it is not the private one.
  expect(await refusal(file, { ...nobody, identity: `${ssh.path}.pub` })).toBe(
    `${ssh.path}.pub is a public key\n  name the private one: ${ssh.path}`,
  );
  expect(
    await refusal(file, { ...nobody, environment: { RPC_PLAYBOOKS_IDENTITY: `${ssh.path}.pub` } }),
  ).toContain('.pub is a public key');

  // An identity that was named is not replaced by another.
  chmodSync(native, 0o640);
  expect(await refusal(file, { ...nobody, home, identity: native })).toBe(
    `--identity ${native}: the file has mode 0640; a secret must be 0600 or stricter\n  chmod 600 ${native}`,
  );
  expect(await refusal(file, { ...nobody, home, environment: { RPC_PLAYBOOKS_IDENTITY: '/none' } })).toMatch(
    /^RPC_PLAYBOOKS_IDENTITY=\/none: the file does not exist\n/,
  );
  expect(
    await refusal(file, { ...nobody, environment: { RPC_PLAYBOOKS_IDENTITY: 'AGE-SECRET-KEY-1sesame9' } }),
  ).toMatch(/^RPC_PLAYBOOKS_IDENTITY:1: this is not an identity\n/);
});

test('a missing or damaged file is refused, with what to do', async () => {
  const { folder, file } = await locked();
  const put = (content: string | Uint8Array) => writeFileSync(file, content);
  const bytes = readFileSync(file);
  put(bytes.subarray(0, -1));
  const environment = { RPC_PLAYBOOKS_PASSPHRASE: 'pass phrase' };
  expect(await refusal(file, { environment })).toBe(
    'FILE is cut off, or was changed after it was encrypted\n  take an older copy of the file, from git or a backup',
  );
  put(text);
  expect(await refusal(file, nobody)).toMatch(/^FILE is not a file in the age format\n/);
  put(Buffer.alloc(1024 * 1024 + 1));
  expect(await refusal(file, nobody)).toBe('FILE is 1048577 bytes long, and no more than 1048576 are read');
  put('');
  expect(await refusal(file, nobody)).toMatch(/^FILE is empty\n/);
  expect(await refusal(join(folder, 'other.secrets.age'), nobody)).toBe(
    `FILE does not exist\n  npx zx playbooks/secrets.mjs --inventory ${folder}/other.yaml generate`,
  );
  expect(await refusal('inventory/mainnet.secrets.age', nobody)).toContain('--inventory mainnet generate');
  expect(await refusal(folder, nobody)).toContain('is a folder');
});

test('each file is decrypted once per run, and its values are masked in all output, also former ones', async () => {
  const first = await locked();
  const second = await locked();
  const asked: string[] = [];
  const asking = (answer: string) => async (question: string) => {
    asked.push(question);
    return answer;
  };
  const unlock = unlocker({ ...nobody, ask: asking('pass phrase') });
  expect(asked).toEqual([]);
  const [one, two, other] = await Promise.all([unlock(first.file), unlock(first.file), unlock(second.file)]);
  expect(asked).toEqual([first.file, second.file].map((file) => `passphrase of ${file}: `));
  expect(one).toBe(two);
  expect(other.get('state_db_password')?.reveal()).toBe('canary-sesame9');
  expect(JSON.stringify([...one])).not.toContain('sesame9');
  expect(redact('canary-sesame9 former-sesame9')).toBe('[secret] [secret]');

  const wrong = unlocker({ ...nobody, ask: asking('wrong') });
  const both = await Promise.allSettled([wrong(first.file), wrong(first.file)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(asked).toHaveLength(5);
});

test('anything but a mapping of names to text is refused with its place, and no value is shown', async () => {
  const { file } = await locked('pass phrase', 'a: b\nb: [sesame9]\n');
  const unlock = unlocker({ environment: { RPC_PLAYBOOKS_PASSPHRASE: 'pass phrase' } });
  const error = await unlock(file).then(
    () => expect.fail('was read'),
    (problems) => problems,
  );
  expect(error.message).toBe(`${file}:2:4: b must be text`);
});

test('a file is replaced completely, or not at all', async () => {
  const { folder, file } = await locked();
  const before = readFileSync(file);
  chmodSync(file, 0o644);
  replaceSecretsFile(file, Buffer.from('new'), before);
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['prod.secrets.age']);

  for (const read of [before, undefined])
    expect(() => replaceSecretsFile(file, Buffer.from('newer'), read)).toThrow(
      'has changed while this command ran',
    );
  expect(readFileSync(file, 'utf8')).toBe('new');

  const link = join(folder, 'link.secrets.age');
  symlinkSync(file, link);
  replaceSecretsFile(link, Buffer.from('by the link'), Buffer.from('new'));
  expect(readFileSync(file, 'utf8')).toBe('by the link');
  expect(() => replaceSecretsFile(join(folder, 'none/a.secrets.age'), Buffer.from('a'), undefined)).toThrow(
    /^cannot write .*none\/a\.secrets\.age \(its folder does not exist\)$/,
  );
});

test('the recipients file beside the secrets lists who may read them', async () => {
  const folder = temporaryDirectory();
  const file = secretsFileOf(join(folder, 'prod.yml'));
  expect(file).toBe(join(folder, 'prod.secrets.age'));
  expect(await readRecipients(file)).toBeUndefined();
  const [mine, theirs] = [sshKey(folder, 'ed25519'), sshKey(folder, 'rsa')];
  writeFileSync(join(folder, 'prod.secrets.recipients'), `${mine.public}\n`);
  const recipients = await readRecipients(file);
  if (!recipients) expect.fail('no recipients');
  const opened = async (lock: Parameters<typeof encrypt>[1], path: string) =>
    decrypt(
      await readAgeFile(await encrypt(text, lock), file),
      (await findIdentities({ identity: path })).identities,
    );
  expect(await opened({ recipients }, mine.path)).toBe(text);
  expect(await opened({ recipients }, theirs.path)).toBeUndefined();
});
