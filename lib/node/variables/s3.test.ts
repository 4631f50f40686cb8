import { expect, test } from 'vitest';
import * as z from 'zod';
import { Secret } from '../../engine/secret/secret.ts';
import { inBucket, orInStorage, signing, webAddress } from './s3.ts';

const storage = {
  endpoint: 'https://storage.example:9000',
  region: 'eu-1',
  path_style: true,
  access_key: new Secret('AKIAEXAMPLE'),
  secret_key: new Secret('a"b\\c'),
};
const inHostName = { ...storage, endpoint: 'https://storage.example/', path_style: false };

test.each([
  [
    's3://bucket/a/b.gz',
    'https://storage.example:9000/bucket/a/b.gz',
    'https://bucket.storage.example/a/b.gz',
  ],
  ['s3://bucket/a/', 'https://storage.example:9000/bucket/a/', 'https://bucket.storage.example/a/'],
  ['http://files/a', 'http://files/a', 'http://files/a'],
])('%s is at an address in the path or in the host name', (address, inPath, inName) => {
  expect(webAddress(address, storage)).toBe(inPath);
  expect(webAddress(address, inHostName)).toBe(inName);
});

test('a bucket is listed by the folder in it', () => {
  expect(inBucket('s3://bucket/a/b', storage)).toEqual({
    bucket: 'https://storage.example:9000/bucket',
    prefix: 'a/b/',
  });
  expect(inBucket('s3://bucket/a', inHostName)).toEqual({
    bucket: 'https://bucket.storage.example/',
    prefix: 'a/',
  });
});

test('keys are quoted for curl, and are not shown', () => {
  const settings = signing({ ...storage, session_token: new Secret('Tk9~token=') });
  expect(settings.reveal()).toBe(
    'aws-sigv4 = "aws:amz:eu-1:s3"\nuser = "AKIAEXAMPLE:a\\"b\\\\c"\nheader = "x-amz-security-token: Tk9~token="\n',
  );
  expect(String(settings)).toBe('[secret]');
});

test.each([
  's3://b/a',
  's3://bucket',
  's3://bucket/',
  's3://bucket/a/',
  's3://bucket/../a',
  's3://bucket/a b',
  's3://bucket/a?b',
  'S3://bucket/a',
  's3://bucket/%61',
])('%s is not a name in a storage', (address) => {
  const { error } = orInStorage(z.string()).safeParse(address);
  expect(error?.issues[0]?.message).toMatch(/^must be a bucket and a name in it, s3:\/\/bucket\/folder/);
});
