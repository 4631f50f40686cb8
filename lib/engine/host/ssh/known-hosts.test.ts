import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { findKnownKeys, fingerprint, hostKeyStatus, parseHostKey } from './known-hosts.ts';

/** A blob of the right form, for a key that nobody has. */
function hostKey(seed: string, type = 'ssh-ed25519') {
  const blob = Buffer.concat(
    [type, seed.padEnd(32, '.')].flatMap((field) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(field.length);
      return [length, Buffer.from(field)];
    }),
  );
  return { blob, line: `${type} ${blob.toString('base64')}` };
}

const one = hostKey('one');
const two = hostKey('two');
const ecdsa = hostKey('three', 'ecdsa-sha2-nistp256');

function hashed(name: string): string {
  const salt = randomBytes(20);
  return `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`;
}

const judged = (text: string, host: string, port: number, key = one) =>
  hostKeyStatus(findKnownKeys(text, host, port), key.blob);

test.each([
  ['a name', `db-1 ${one.line}`, 'db-1', 22, 'known'],
  ['another name', `db-2 ${one.line}`, 'db-1', 22, 'unknown'],
  ['several names, comment at the end', `db-0,db-1,10.0.0.1 ${one.line} root@db-1`, 'db-1', 22, 'known'],
  ['upper case', `DB-1 ${one.line}`, 'db-1', 22, 'known'],
  ['a port', `[db-1]:2222 ${one.line}`, 'db-1', 2222, 'known'],
  ['another port', `[db-1]:2223 ${one.line}`, 'db-1', 2222, 'unknown'],
  ['a port where the usual one is meant', `[db-1]:2222 ${one.line}`, 'db-1', 22, 'unknown'],
  ['the name without its port', `db-1 ${one.line}`, 'db-1', 2222, 'known'],
  ['another key of the name without its port', `db-1 ${two.line}`, 'db-1', 2222, 'unknown'],
  ['an IPv6 address', `2001:db8::1 ${one.line}`, '2001:db8::1', 22, 'known'],
  ['a pattern', `db-* ${one.line}`, 'db-1', 22, 'known'],
  ['a pattern of one character', `db-? ${one.line}`, 'db-12', 22, 'unknown'],
  ['a dot is a dot', `db.1 ${one.line}`, 'dbx1', 22, 'unknown'],
  ['a negated pattern', `db-*,!db-1 ${one.line}`, 'db-1', 22, 'unknown'],
  ['a hashed name', `${hashed('db-1')} ${one.line}`, 'db-1', 22, 'known'],
  ['a hashed name with its port', `${hashed('[db-1]:2222')} ${one.line}`, 'db-1', 2222, 'known'],
  ['another hashed name', `${hashed('db-2')} ${one.line}`, 'db-1', 22, 'unknown'],
  ['another key', `db-1 ${two.line}`, 'db-1', 22, 'changed'],
  ['another type of key', `db-1 ${ecdsa.line}`, 'db-1', 22, 'changed'],
  ['several keys', `db-1 ${two.line}\ndb-1 ${ecdsa.line}\n\n# x\ndb-1 ${one.line}`, 'db-1', 22, 'known'],
  ['revoked', `@revoked db-1 ${one.line}`, 'db-1', 22, 'revoked'],
  ['revoked everywhere, though known', `db-1 ${one.line}\n@revoked * ${one.line}`, 'db-1', 22, 'revoked'],
  ['another revoked key', `db-1 ${one.line}\n@revoked * ${two.line}`, 'db-1', 22, 'known'],
  ['an authority is no host key', `@cert-authority * ${one.line}`, 'db-1', 22, 'unknown'],
  ['a cut key', `db-1 ${one.line.slice(0, -8)}`, 'db-1', 22, 'unknown'],
  ['another cut key', `db-1 ${two.line.slice(0, -1)}\ndb-1 ${one.line}`, 'db-1', 22, 'known'],
  ['a key with more at its end', `db-1 ${one.line}AAAA`, 'db-1', 22, 'unknown'],
  ['a cut revoked key', `db-1 ${one.line}\n@revoked db-1 ${one.line.slice(0, -8)}`, 'db-1', 22, 'known'],
  ['broken lines', 'db-1\ndb-1 ssh-ed25519\n|1|x db-1 y z\n', 'db-1', 22, 'unknown'],
])('known_hosts with %s', (_, text, host, port, wanted) => {
  expect(judged(text, host, port)).toBe(wanted);
});

test('a pinned key has to be a valid key', () => {
  expect(parseHostKey(` ${one.line} a comment`)?.blob).toEqual(one.blob);
  for (const bad of ['', 'ssh-ed25519', 'AAAA', `ssh-rsa ${one.blob.toString('base64')}`]) {
    expect(parseHostKey(bad)).toBeUndefined();
  }
});

test('a fingerprint equals the one of ssh-keygen -l', () => {
  const line = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIjgX7ubcDDAX0e/29rwOjiMqSrtgh+xG/K5fnbLu5bT';
  expect(fingerprint(parseHostKey(line)?.blob ?? Buffer.alloc(0))).toBe(
    'SHA256:Pycb5tX8GguqvND8AqvRDr6kWqdHjCJ75NpEfHMo2ow',
  );
});
