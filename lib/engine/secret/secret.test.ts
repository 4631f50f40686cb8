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
