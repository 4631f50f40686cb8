import { expect, test } from 'vitest';
import { Secret } from '../../engine/secret/secret.ts';
import { fallbackPath, fallbackRules } from './fallback-rules.ts';

const at = (address: string) => ({ fallback: new Secret(address) });

test('the path of a provider, with its key, is in a file of its own', () => {
  const own = at('https://rpc.provider.example/v2/KEY?a=b');
  expect(fallbackPath(own)).toBe('uri /v2/KEY?a=b\n');
  expect(fallbackRules(own).fallback).not.toContain('KEY');
  expect([fallbackPath({}), fallbackRules({}).fallback]).toEqual(['', '']);
});

test('a provider with TLS has to have a certificate for its name, and its name is resolved again', () => {
  expect(fallbackRules(at('https://rpc.provider.example/')).fallback).toContain(
    'server provider rpc.provider.example:443 init-addr libc,none resolvers system resolve-prefer ipv4 ssl verify required ca-file @system-ca sni str(rpc.provider.example) verifyhost rpc.provider.example\n',
  );
  expect(fallbackRules(at('http://192.0.2.1:8545/')).fallback).toContain('server provider 192.0.2.1:8545\n');
});
