import { expect, test } from 'vitest';
import { Secret } from '../../secret/secret.ts';
import { asText, secretContent, sha256Of } from './content.ts';

test('lines with a secret are masked, in this version and in an older one', () => {
  const content = secretContent('User = "a"\nPassword = "new-one"\n', /password/i);
  expect(content.holdsSecrets).toBe(true);
  expect(content.mask(content.text)).toBe('User = "a"\nPassword = [secret]\n');
  expect(content.mask('password: old-one\nPort = 1\n')).toBe('password: [secret]\nPort = 1\n');
  expect(content.mask('the password is old-one')).toBe('[secret]');
});

test('a line with a secret shows nothing after its key, however often it is masked', () => {
  const content = secretContent('', /databaseURL|PASSWORD/g);
  const line = '  "databaseURL": "postgresql://u:hunter2@h:5432/d",';
  expect([1, 2, 3].map(() => content.mask(line))).toEqual(Array(3).fill('  "databaseURL": [secret]'));
  expect(content.mask("CREATE USER u PASSWORD 'hunter2';")).not.toContain('hunter2');
});

test('a known secret is masked in every other line, too', () => {
  new Secret('sesame-street');
  expect(secretContent('', /never/).mask('# was sesame-street')).toBe('# was [secret]');
});

test('binary content is recognized', () => {
  expect(asText(Buffer.from('Grüße\r\n\tü\f'))).toBe('Grüße\r\n\tü\f');
  expect(asText(Buffer.from([0x61, 0x00]))).toBeUndefined();
  expect(asText(Buffer.from([0xff, 0xfe, 0x61]))).toBeUndefined();
  expect(asText(Buffer.alloc(0))).toBe('');
});

test('sha256 equals a known hash', () => {
  expect(sha256Of(Buffer.from('abc'))).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
});
