import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parseCommandLine } from '../../engine/command-line/command-line.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import type { Terminal } from '../../engine/output/terminal.ts';
import { littleWork, sshKey } from '../../engine/secret/testing/keys.ts';
import { unlocker } from '../../engine/secret/unlock.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { type Changes, labDeployment } from '../../node/testing/lab-deployment.ts';
import { run as secretsCommand } from './command.ts';
import { secretsOptions, secretsOptionsOf, verbs } from './options.ts';

const passphrase = 'five random words in a row';
const references: Changes = ['state', 'pool', 'prover'].map((store) => [
  ['vars', 'credentials', store, 'password'],
  `secret:${store}_db_password`,
]);

interface Given {
  readonly environment?: NodeJS.ProcessEnv;
  readonly edit?: (text: string) => string | Promise<string>;
  readonly terminal?: Terminal;
}

/** The command with its own inventory. */
async function command(changes: Changes = references) {
  const file = await labDeployment(changes);
  const secrets = file.replace(/\.yaml$/, '.secrets.age');
  const run = async (
    line: string,
    { environment = { RPC_PLAYBOOKS_PASSPHRASE: passphrase }, edit, terminal }: Given = {},
  ) => {
    const said: string[] = [];
    const complained: string[] = [];
    const code = await secretsCommand(['--inventory', file, ...line.split(' ')], {
      keys: { environment, home: '/nowhere', ask: terminal?.hidden },
      terminal,
      edit: async (text) => edit?.(text) ?? text,
      say: (each) => said.push(each),
      complain: (each) => complained.push(each),
      work: littleWork,
    });
    const text = (lines: string[]) => lines.join('\n').replaceAll(`${dirname(file)}/`, '');
    return { code, said: text(said), complained: text(complained) };
  };
  const values = async () => {
    const { said } = await run('show --reveal');
    return new Map(said.split('\n').map((line) => line.split(': ') as [string, string]));
  };
  return { file, folder: dirname(file), secrets, run, values };
}

test('generate adds missing secrets and names them, and a deploy reads them', async () => {
  const { file, secrets, run, values } = await command();
  const made = await run('generate');
  expect(made).toEqual({
    code: 0,
    said: 'lab.secrets.age: whoever has its passphrase can read it\nmade state_db_password\nmade pool_db_password\nmade prover_db_password',
    complained: '',
  });
  expect(statSync(secrets).mode & 0o777).toBe(0o600);
  const first = await values();
  for (const value of first.values()) {
    expect(value).toMatch(/^[A-Za-z0-9][\w.~-]{31}$/);
    expect(made.said).not.toContain(value);
  }
  const { hosts } = await loadDeployment(file, {
    unlock: unlocker({ environment: { RPC_PLAYBOOKS_PASSPHRASE: passphrase } }),
  });
  expect(hosts[1]?.vars.credentials.pool.password.reveal()).toBe(first.get('pool_db_password'));

  const before = readFileSync(secrets);
  expect((await run('generate')).said).toBe(
    'nothing to make: lab.secrets.age has state_db_password, pool_db_password, prover_db_password',
  );
  expect(readFileSync(secrets)).toEqual(before);
  expect((await run('show')).said).toBe('state_db_password\npool_db_password\nprover_db_password');
  expect((await run('show pool_db_password --reveal')).said).toBe(first.get('pool_db_password'));
});

test('generate shows the lines that an inventory lacks, and the secrets that cannot be generated', async () => {
  const { run } = await command([...references.slice(1), [['ssh', 'become_password'], 'secret:sudo']]);
  const { said, code } = await run('generate');
  expect(code).toBe(0);
  expect(said).toMatch(
    /^sudo is still missing, and cannot be made up: npx zx playbooks\/secrets\.mjs --inventory \S+ edit$/m,
  );
  expect(said).toMatch(
    /^ {2}lab\.yaml:\d+:\d+ {2}credentials\.state\.password: secret:state_db_password {3}\(now file:/m,
  );
  expect(said).not.toContain('credentials.pool.password');
});

test('a new passphrase is asked for twice and has a minimum length', async () => {
  const { run, secrets } = await command();
  const asked: string[] = [];
  const answers = (...lines: string[]): Terminal => {
    const hidden = async (question: string) => {
      asked.push(question.replace(secrets, 'FILE'));
      return lines.shift() ?? '';
    };
    return { hidden, shown: hidden };
  };
  const nothing = { environment: {} };
  expect(await run('generate', { ...nothing, terminal: answers('short') })).toMatchObject({
    code: 3,
    complained: expect.stringContaining('fewer than 12 characters'),
  });
  expect(await run('generate', { ...nothing, terminal: answers(passphrase, 'another') })).toMatchObject({
    code: 3,
    complained: 'the two passphrases differ',
  });
  expect(await run('generate', nothing)).toMatchObject({
    code: 3,
    complained: expect.stringContaining('no terminal to ask for it on'),
  });
  expect(readdirSync(dirname(secrets)).filter((name) => name.includes('secrets'))).toEqual([]);
  expect(await run('generate', { ...nothing, terminal: answers(passphrase, passphrase) })).toMatchObject({
    code: 0,
  });
  asked.length = 0;
  expect(await run('show', { ...nothing, terminal: answers(passphrase) })).toMatchObject({ code: 0 });
  expect(asked).toEqual(['passphrase of FILE: ']);
  expect(
    await run('rekey', { ...nothing, terminal: answers(passphrase, 'another long one', 'another long one') }),
  ).toMatchObject({ code: 0 });
  expect((await run('show')).complained).toContain('RPC_PLAYBOOKS_PASSPHRASE does not open lab.secrets.age');
  for (const end of ['', '\n', '\r\n'])
    expect(
      (await run('show', { environment: { RPC_PLAYBOOKS_PASSPHRASE: `another long one${end}` } })).code,
    ).toBe(0);
});

test('edit encrypts only a changed and valid file, and offers to edit again', async () => {
  const { run, secrets, values } = await command();
  await run('generate');
  const before = readFileSync(secrets);
  expect(await run('edit')).toEqual({ code: 0, said: 'nothing changed', complained: '' });

  const odd = (text: string) => `${text}extra: canary-hunter2\npool_db_password: canary-hunter2\n`;
  const refused = await run('edit', { edit: odd });
  expect(refused).toEqual({
    code: 3,
    said: '',
    complained: expect.stringMatching(/^lab\.secrets\.age:7:1: this name is in the mapping twice/),
  });
  expect(readFileSync(secrets)).toEqual(before);

  const edited: string[] = [];
  const fix = (text: string) => {
    edited.push(text);
    return edited.length === 1
      ? text.replace(/^(pool_db_password: ).*$/m, '$1hunter2/x')
      : text.replace('hunter2/x', 'hunter2-x');
  };
  const terminal: Terminal = { hidden: async () => '', shown: async () => '' };
  const fixed = await run('edit', { edit: fix, terminal });
  expect(fixed).toMatchObject({ code: 0, said: 'wrote lab.secrets.age' });
  expect(fixed.complained).toMatch(
    /^lab\.secrets\.age:4:19: pool_db_password has a character that is not allowed: only A-Z/,
  );
  expect(fixed.complained).not.toContain('hunter2');
  expect(edited[1]).toContain('hunter2/x');
  expect((await values()).get('pool_db_password')).toBe('hunter2-x');

  // Secrets other than database passwords may have any characters.
  expect(await run('edit', { edit: (text) => `${text}sudo: 'a/b: c'\n` })).toMatchObject({ code: 0 });
  expect((await run('show sudo --reveal')).said).toBe('a/b: c');
  const stopped = await run('edit', { edit: () => '- a', terminal: { ...terminal, shown: async () => 'n' } });
  expect(stopped).toMatchObject({ code: 3, complained: expect.stringContaining('nothing was changed') });
  expect((await run('show sudo --reveal')).said).toBe('a/b: c');
});

test('rotate makes new passwords, keeps the previous ones, says what to do, and removes them with --done', async () => {
  const { run, values } = await command();
  await run('generate');
  const before = await values();
  const rotated = await run('rotate pool_db_password');
  expect(rotated.code).toBe(0);
  expect(rotated.said).toContain('new pool_db_password; the previous value is kept under previous');
  expect(rotated.said.split('\n').slice(-4)).toEqual([
    '1. Deploy all servers, which changes the passwords in the databases and on every server. Where CI deploys, commit the file first:',
    expect.stringMatching(/^ {5}npx zx playbooks\/deploy\.mjs --inventory \S+$/),
    '2. When that has converged, remove the previous ones:',
    expect.stringMatching(/^ {5}npx zx playbooks\/secrets\.mjs --inventory \S+ rotate --done$/),
  ]);
  const after = await values();
  expect(after.get('state_db_password')).toBe(before.get('state_db_password'));
  expect(after.get('pool_db_password')).not.toBe(before.get('pool_db_password'));
  for (const value of [...before.values(), ...after.values()]) expect(rotated.said).not.toContain(value);
  expect((await run('show pool_db_password')).said).toBe('pool_db_password  (and the previous value)');
  let text = '';
  await run('edit', {
    edit: (plain) => {
      text = plain;
      return plain;
    },
  });
  expect(text).toContain(`previous:\n  pool_db_password: ${before.get('pool_db_password')}\n`);

  expect(await run('rotate')).toMatchObject({
    code: 3,
    complained: expect.stringContaining('the previous value of pool_db_password is still kept'),
  });
  expect(await run('rotate state_db_password prover_db_password')).toMatchObject({ code: 0 });
  for (const answer of ['', 'n', 'no']) {
    const asked: string[] = [];
    const shown = async (question: string) => {
      asked.push(question);
      return answer;
    };
    const kept = await run('rotate pool_db_password --done', { terminal: { hidden: shown, shown } });
    expect(asked.join()).toMatch(/^has a deploy .* accepts only the previous pool_db_password \[y\/N\] $/);
    expect(kept).toMatchObject({ code: 3, said: '' });
    expect(kept.complained).toMatch(
      /nothing was changed\n {2}a deploy .*: npx zx playbooks\/deploy\.mjs .* --check/,
    );
  }
  const yes = async () => 'yes';
  const terminal = { hidden: yes, shown: yes };
  expect((await run('rotate pool_db_password --done', { terminal })).said).toBe(
    'forgot the previous value of pool_db_password',
  );
  expect((await run('rotate pool_db_password --done')).complained).toContain(
    'no previous value of pool_db_password is kept',
  );
  expect((await run('rotate --done')).said.split('\n')).toHaveLength(2);
  expect((await run('rotate --done')).said).toBe('nothing to forget: no previous value is kept');
  expect(await run('rotate')).toMatchObject({ code: 0 });
});

test('every recipient in the recipients file can read the secrets, also after a change of recipients', async () => {
  const { run, folder, values } = await command();
  const [mine, theirs] = [sshKey(folder, 'ed25519'), sshKey(folder, 'rsa')];
  const recipients = join(folder, 'lab.secrets.recipients');
  const by = (path: string) => ({ environment: { RPC_PLAYBOOKS_IDENTITY: path } });
  writeFileSync(recipients, `${mine.public}\n`);
  expect((await run('generate', by(mine.path))).said).toContain(
    'lab.secrets.age: the one recipient of lab.secrets.recipients can read it',
  );
  expect(await run('show', by(theirs.path))).toMatchObject({
    code: 3,
    complained: expect.stringContaining('no available identity opens lab.secrets.age'),
  });
  expect((await run(`show --identity ${mine.path}`, { environment: {} })).code).toBe(0);
  chmodSync(mine.path, 0o640);
  expect(await run(`show --identity ${mine.path}`)).toMatchObject({
    code: 3,
    complained: expect.stringContaining('has mode 0640'),
  });
  chmodSync(mine.path, 0o600);

  writeFileSync(recipients, `${mine.public}\n${theirs.public}\n`);
  expect(await run('rekey', by(mine.path))).toEqual({
    code: 0,
    said: 'lab.secrets.age: the 2 recipients of lab.secrets.recipients can read it',
    complained: '',
  });
  expect((await run('show', by(theirs.path))).code).toBe(0);

  writeFileSync(recipients, `${mine.public}\n`);
  // The identity of the command line does not decrypt it any more, and another one of the user
  // does.
  expect((await run(`rekey --identity ${theirs.path}`, by(mine.path))).complained).toBe('');
  writeFileSync(recipients, `${mine.public}\n${theirs.public}\n`);
  await run('rekey', by(mine.path));
  writeFileSync(recipients, `${mine.public}\n`);
  expect((await run('rekey', by(theirs.path))).complained).toBe(
    'none of your own identities opens it now (checked id_rsa): only the other recipients can undo that',
  );
  // A key with a passphrase is matched by its public half, without asking for the passphrase.
  const locked = sshKey(folder, 'ed25519', 'pass phrase');
  writeFileSync(recipients, `${mine.public}\n${theirs.public}\n`);
  await run('rekey', by(mine.path));
  writeFileSync(recipients, `${locked.public}\n`);
  const terminal: Terminal = { hidden: async () => 'pass phrase', shown: async () => '' };
  expect(await run('rekey', by(mine.path))).toMatchObject({
    complained: expect.stringContaining('none of your own'),
  });
  writeFileSync(recipients, `${mine.public}\n${locked.public}\n`);
  expect(await run('rekey', { ...by(locked.path), terminal })).toMatchObject({ code: 0, complained: '' });
  writeFileSync(recipients, 'nobody\n');
  expect(await run('rotate', by(mine.path))).toMatchObject({
    code: 3,
    complained: expect.stringContaining('lab.secrets.recipients:1:1: this is not a recipient'),
  });

  writeFileSync(recipients, `${mine.public}\n`);
  rmSync(recipients);
  expect((await run('rotate', by(mine.path))).complained).toMatch(
    /lab\.secrets\.recipients, which has to name them, does not exist\n {2}write it/,
  );
  const both = { environment: { RPC_PLAYBOOKS_IDENTITY: mine.path, RPC_PLAYBOOKS_PASSPHRASE: passphrase } };
  expect((await run('rekey', both)).said).toBe('lab.secrets.age: whoever has its passphrase can read it');
  expect((await values()).size).toBe(3);
});

test('bad input ends with 3 and changes nothing', async () => {
  const { run, folder, secrets } = await command();
  const refused = async (line: string, words: string) =>
    expect(await run(line), line).toEqual({ code: 3, said: '', complained: expect.stringContaining(words) });
  await refused('show', 'lab.secrets.age does not exist');
  await refused('rotate', 'lab.secrets.age does not exist');
  await refused('genrate', 'unexpected word "genrate"\n  did you mean generate?');
  await refused('generate more', 'unexpected word "more"\n  generate takes no names');
  await refused('generate --reveal', '--reveal does not go with generate');
  await refused('show --done', '--done does not go with show');
  await refused('show --revel', 'unknown option "--revel"\n  did you mean --reveal?');
  expect(await run('--help')).toMatchObject({ code: 0, said: expect.stringContaining('rotate [NAME …]') });
  expect(readdirSync(folder).filter((name) => name.includes('secrets'))).toEqual([]);
  await run('generate');
  const before = readFileSync(secrets);
  await refused(
    'show pol_db_password',
    'lab.secrets.age has no secret called pol_db_password\n  did you mean pool_db_password?',
  );
  await run('edit', { edit: (text) => `${text}sudo: x\n` });
  await refused(
    'rotate sudo',
    'sudo is not a password of a database\n  change it where it is used, then here: ',
  );
  await refused('rotate pool_db_pasword', 'did you mean pool_db_password?');
  expect(readFileSync(secrets)).not.toEqual(before);
  const changed = readFileSync(secrets);
  const meanwhile = await run('edit', {
    edit: (text) => {
      writeFileSync(secrets, before);
      return `${text}a: b\n`;
    },
  });
  expect(meanwhile).toMatchObject({
    code: 3,
    complained: expect.stringContaining('has changed while this command ran'),
  });
  expect(readFileSync(secrets)).toEqual(before);
  writeFileSync(secrets, changed.subarray(0, 100));
  await refused('edit', 'lab.secrets.age is cut off');
});

test.each([
  ['', 'the command line does not say what to do\n  one of generate, edit, show, rotate, rekey; see --help'],
  [
    'show',
    'no --inventory given\n  --inventory NAME, one of lab, lab-fleet, lab-single, lab-week, mainnet, testnet; or the path of a file',
  ],
  ['-i x generate a', 'unexpected word "a"\n  generate takes no names'],
  ['-i x generate --reveal', '--reveal does not go with generate\n  it goes with show'],
  ['-i x show --done', '--done does not go with show\n  it goes with rotate'],
])('a command line with missing or surplus arguments is refused: %s', (line, words) => {
  const said = (() => {
    try {
      const args = line.split(' ').filter((word) => word !== '');
      const { given, words: said } = parseCommandLine(args, secretsOptions, Object.keys(verbs), true);
      return secretsOptionsOf(given, said);
    } catch (error) {
      return describeError(error);
    }
  })();
  expect(said).toBe(words);
});

test('rotate needs the password of a database', async () => {
  const { run } = await command();
  await run('edit', { edit: () => 'sudo: of-nobodys-database' });
  expect((await run('rotate')).complained).toMatch(
    /^lab\.secrets\.age has no password of a database\n {2}npx zx playbooks\/secrets\.mjs --inventory \S+ generate$/,
  );
});

const authority: Changes = [...references, [['vars', 'tls'], { ca: 'lab.ca.pem', key: 'secret:tls_ca_key' }]];

test('generate makes the authority of tls: its key as a secret, its certificate beside the inventory', async () => {
  const { file, folder, run, values } = await command(authority);
  const ca = join(folder, 'lab.ca.pem');
  const made = await run('generate');
  expect(made.said).toMatch(
    /made tls_ca_key\n\S*lab\.ca\.pem begins with the certificate of the authority: keep it beside/,
  );
  const key = (await values()).get('tls_ca_key') ?? '';
  expect(made.said).not.toContain(key);
  const deployed = async () => {
    const unlock = unlocker({ environment: { RPC_PLAYBOOKS_PASSPHRASE: passphrase } });
    return (await loadDeployment(file, { unlock })).hosts[0]?.vars.tls;
  };
  const first = await deployed();
  expect(first?.certificate).toBe(readFileSync(ca, 'utf8'));
  expect((await run('generate')).said).toMatch(/^nothing to make: .*, tls_ca_key$/);
  expect(readFileSync(ca, 'utf8')).toBe(first?.certificate);

  // Killed between the key and its certificate: the next run makes the certificate.
  rmSync(ca);
  await run('generate');
  expect((await deployed())?.key.reveal()).toBe(first?.key.reveal());
  writeFileSync(ca, 'notes of somebody');
  expect(await run('generate')).toMatchObject({
    code: 3,
    complained: expect.stringContaining(
      'lab.ca.pem holds something else than certificates: it is not overwritten',
    ),
  });
  expect(readFileSync(ca, 'utf8')).toBe('notes of somebody');
  rmSync(ca);
  mkdirSync(`${ca}.new`);
  expect(await run('generate')).toMatchObject({
    code: 3,
    complained: expect.stringMatching(/^cannot write \S*lab\.ca\.pem \(EISDIR\)$/),
  });
});

test('rotate replaces the authority, and clients go on trusting the former one', async () => {
  const { file, folder, run, values } = await command(authority);
  const ca = join(folder, 'lab.ca.pem');
  await run('generate');
  const former = readFileSync(ca, 'utf8');
  const before = (await values()).get('tls_ca_key');
  expect(await run('rotate tls_ca_key pool_db_password')).toMatchObject({
    code: 3,
    complained: expect.stringContaining(
      'tls_ca_key is rotated alone: its certificates have to be made again',
    ),
  });
  // All passwords, and not the authority.
  await run('rotate');
  expect((await values()).get('tls_ca_key')).toBe(before);
  const { said } = await run('rotate tls_ca_key');
  expect(said).toMatch(
    /new tls_ca_key: deploy to all hosts, then take the former certificate out of \S*lab\.ca\.pem and deploy again$/,
  );
  const unlock = unlocker({ environment: { RPC_PLAYBOOKS_PASSPHRASE: passphrase } });
  const tls = (await loadDeployment(file, { unlock })).hosts[0]?.vars.tls;
  expect(tls?.trusted).toBe(`${tls?.certificate}${former}`);
  expect(tls?.certificate).not.toBe(former);
});

test('a key of an authority that is no key is named', async () => {
  const { run } = await command(authority);
  await run('edit', { edit: (text) => `${text}tls_ca_key: 'text.Pw~2'\n` });
  expect(await run('generate')).toMatchObject({
    code: 3,
    complained: expect.stringContaining(
      'the key of the authority (tls.key) is no private key in PEM or base64',
    ),
  });
});
