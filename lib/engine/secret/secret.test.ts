import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { excerpt, redact, Secret } from './secret.ts';

test('a secret that begins as another leaves no half of it', () => {
  new Secret('Ue7kXq');
  new Secret('Ue7kXq-and-more');
  expect(redact('a=Ue7kXq b=Ue7kXq-and-more')).toBe('a=[secret] b=[secret]');
});

test('a secret of several lines is masked in each of them, and what all keys share is not', () => {
  const body = ['MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg', 'q1w2e3r4t5y6u7i8o9p0'];
  const key = new Secret(
    ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----', ''].join('\n'),
  );
  expect(redact(key.reveal())).toBe('[secret]');
  expect(redact(`-----BEGIN PRIVATE KEY-----\n${body[0]}`)).toBe('-----BEGIN PRIVATE KEY-----\n[secret]');
  expect(redact(`${body[1]}: bad base64`)).toBe('[secret]: bad base64');
});

test('an excerpt is cut after its secrets are masked', () => {
  new Secret('Zt9mWb4n');
  expect(excerpt('key=Zt9mWb4n', 8)).toBe('key=[sec');
});

const value = 'Kq8"/+Lm\\n$3\'ö w';
new Secret(value);
test.each([
  ['JSON', JSON.stringify({ key: value }), '{"key":"[secret]"}'],
  ['an address', `https://a/${encodeURIComponent(value)}?x`, 'https://a/[secret]?x'],
  [
    'an address in lower case',
    encodeURIComponent(value).toLowerCase().replace('kq8', 'Kq8').replace('lm', 'Lm'),
    '[secret]',
  ],
  ['a form', new URLSearchParams({ key: value }).toString(), 'key=[secret]'],
  ['SQL', `'${value.replaceAll("'", "''")}'`, "'[secret]'"],
  ['Compose', value.replaceAll('$', '$$$$'), '[secret]'],
  ['base64', Buffer.from(value).toString('base64url'), '[secret]'],
])('a secret is masked in %s', (_, text, shown) => {
  expect(redact(text)).toBe(shown);
});

const quoted = 'Wm4&\'"<b>$x y`z';
new Secret(quoted);
const shell = (program: string, script: string) =>
  spawnSync(program, ['-c', script, 'sh', quoted], { encoding: 'utf8' });
test.each([
  ["the trace of Debian's sh", shell('sh', 'set -x; : "$1"').stderr, /^\+ : \S*\[secret\]\S*\n$/],
  ['the trace of bash', shell('bash', 'set -x; : "$1"').stderr, /^\+ : '?\[secret\]'?\n$/],
  ['a word that bash quotes', shell('bash', 'printf %q "$1"').stdout, /^\[secret\]$/],
  // encoding/json of Go escapes these signs for a browser.
  ['JSON of Go', '"Wm4\\u0026\'\\"\\u003cb\\u003e$x y`z"', /^"\[secret\]"$/],
  ['markup', 'Wm4&amp;&#39;&quot;&lt;b&gt;$x y`z', /^\[secret\]$/],
])('a secret is masked in %s', (_, text, shown) => {
  expect(redact(text)).toMatch(shown);
});

test('a secret that is an address is masked as a program has read it, and what is asked of its server', () => {
  new Secret('https://Hooks.Example.org?token=Sup3rTok3nXYZabc');
  expect(redact('POST /?token=Sup3rTok3nXYZabc')).toBe('POST [secret]');
  expect(redact('Post "https://hooks.example.org/?token=Sup3rTok3nXYZabc": EOF')).toBe(
    'Post "[secret]": EOF',
  );
  expect(redact('https://hooks.example.org?token=Sup3rTok3nXYZabc')).toBe(
    'https://hooks.example.org[secret]',
  );
  expect(redact('bad token "Sup3rTok3nXYZabc"')).toBe('bad token "[secret]"');
  new Secret('https://hooks.example.org/services/T0A1/B2C3/x9y8z7');
  expect(redact('POST services/T0A1/B2C3/x9y8z7 404')).toBe('POST [secret] 404');
  new Secret('https://node:Pw8-of-node@rpc.example.org/v2/8f3a');
  expect(redact('user node:Pw8-of-node')).toBe('user [secret]');
  expect(redact('GET /v2/8f3a')).toBe('GET /v2/8f3a');
  new Secret('postgresql://prover:Pw9-of-prover@db-1:5432/zkevm_prover?sslmode=require');
  expect(redact('database zkevm_prover of db-1')).toBe('database zkevm_prover of db-1');
});

test.each([
  // A provider of layer 1, of a key in the path.
  [
    'https://l1.example/v3/abcdef0123456789abcdef0123456789?x=1',
    'key abcdef0123456789abcdef0123456789 is over its limit',
    'key [secret] is over its limit',
  ],
  [
    'https://l1.example/v3/abcdef0123456789abcdef0123456789?x=1',
    'GET /v3/other: v3 has no x=1',
    'GET /v3/other: v3 has no x=1',
  ],
  // Slack, of a webhook.
  [
    'https://hooks.slack.example/services/T0A1B2C3D/B4E5F6G7H/q1W2e3R4t5Y6u7I8o9P0aSdF',
    'no_team T0A1B2C3D/B4E5F6G7H/q1W2e3R4t5Y6u7I8o9P0aSdF',
    'no_team [secret]',
  ],
  [
    'https://hooks.slack.example/services/T0A1B2C3D/B4E5F6G7H/q1W2e3R4t5Y6u7I8o9P0aSdF',
    'invalid_token q1W2e3R4t5Y6u7I8o9P0aSdF of services',
    'invalid_token [secret] of services',
  ],
  // Words of an address are no keys.
  [
    'https://s3.example/snapshots/mainnet_state_db.sql.tar.gz?X-Amz-Signature=0a1b2c3d4e5f60718293a4b5c6d7e8f9',
    'unpack mainnet_state_db.sql.tar.gz signed 0a1b2c3d4e5f60718293a4b5c6d7e8f9',
    'unpack mainnet_state_db.sql.tar.gz signed [secret]',
  ],
  [
    'https://l1.example/ethereum-mainnet/rpc/kQ9vPz3mT7wXc2Lb',
    'ethereum-mainnet refuses kQ9vPz3mT7wXc2Lb',
    'ethereum-mainnet refuses [secret]',
  ],
])('of the secret %s the parts that say much are masked: %s', (address, text, masked) => {
  new Secret(address);
  expect(redact(text)).toBe(masked);
});

test.each(['', 'u', 'us', 'use'])('a secret is masked within base64, after "%s"', (before) => {
  const text = Buffer.from(`${before}${value}:more`).toString('base64');
  const shown = redact(text);
  expect(shown).toContain('[secret]');
  // What is left of it are bits of its first and last byte.
  expect(shown.replace('[secret]', '').length).toBeLessThan(16);
});

test('a long secret is masked in lines of base64, and each of its lines within base64', () => {
  const lines = ['A1b2C3d4E5f6G7h8', 'I9j0K1l2M3n4O5p6', 'Q7r8S9t0U1v2W3x4', 'Y5z6A7b8C9d0E1f2'];
  const text = new Secret(lines.join('\n')).reveal();
  const wrapped = Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\n');
  expect(redact(wrapped)).toMatch(/^\[secret\]\n\[secret\]=*$/);
  expect(redact(Buffer.from(`user:${lines[1]}`).toString('base64'))).toContain('[secret]');
});
