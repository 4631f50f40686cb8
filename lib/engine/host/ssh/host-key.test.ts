import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../testing/local-connection.ts';
import { checkHostKey } from './host-key.ts';
import { parseSshConfig } from './ssh-config.ts';
import { parseSshSettings } from './ssh-settings.ts';

const ed25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIjgX7ubcDDAX0e/29rwOjiMqSrtgh+xG/K5fnbLu5bT';
const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGBzdPEPxPeBnLtRzFL0lfKEwHNN0aNXWPBKU8sEFzXJ';
const blobOf = (line: string) => Buffer.from(line.split(' ')[1] ?? '', 'base64');

function known(text: string): string {
  const file = join(temporaryDirectory(), 'known_hosts');
  writeFileSync(file, text);
  return file;
}

/** The settings of ssh_config for a host. */
function configOf(text: string, host = 'db-1') {
  return parseSshConfig(parseSshSettings(text), { host, name: host, usual: new Map() });
}

const config = configOf('');

test('algorithms of known keys come first, so that the host offers a key that can be compared', () => {
  const rsa = `db-1 ssh-rsa ${Buffer.from('\0\0\0\x07ssh-rsa\0\0\0\x011').toString('base64')}`;
  const { algorithms } = checkHostKey('db-1', config, { hostKeys: [], knownHostsFile: known(rsa) });
  expect(algorithms.slice(0, 2)).toEqual(['rsa-sha2-512', 'rsa-sha2-256']);
  expect(algorithms).toContain('ssh-ed25519');
  expect(algorithms).not.toContain('ssh-rsa');
});

test('a pinned key has priority over known_hosts, which can still revoke it', () => {
  const pinned = checkHostKey('db-1', config, {
    hostKeys: [ed25519],
    knownHostsFile: known(`db-1 ${other}`),
  });
  expect([pinned.accept(blobOf(ed25519)), pinned.refusal()]).toEqual([true, undefined]);
  expect(pinned.accept(blobOf(other))).toBe(false);
  const changed = pinned.refusal();
  expect(changed?.message).toMatch(
    /^db-1: THE HOST KEY OF db-1 HAS CHANGED\. .*\n {2}shown: .*\n {2}known: /,
  );
  expect(changed?.hint).toMatch(
    /^nothing was sent to it\. .* replace the old one \(host_key in the inventory\) with\n/,
  );

  const revoked = checkHostKey('db-1', config, {
    hostKeys: [ed25519],
    knownHostsFile: known(`@revoked * ${ed25519}`),
  });
  expect(revoked.accept(blobOf(ed25519))).toBe(false);
  expect(revoked.refusal()?.message).toMatch(/^db-1: THE HOST KEY OF db-1 IS REVOKED: ssh-ed25519 SHA256:/);
  expect(revoked.refusal()?.hint).toMatch(/marks this key @revoked; the host needs a new one$/);
});

test('several pinned keys, and an invalid one', () => {
  const check = checkHostKey('db-1', config, { hostKeys: [other, ed25519], knownHostsFile: known('') });
  expect(check.accept(blobOf(ed25519))).toBe(true);
  expect(() => checkHostKey('db-1', config, { hostKeys: ['nonsense'], knownHostsFile: undefined })).toThrow(
    /db-1: host_key in the inventory is not a host key: nonsense/,
  );
});

test('a host key alias is looked up without a port', () => {
  const aliased = configOf('port 2222\nhostkeyalias the-db', '10.0.0.1');
  const check = checkHostKey('db-1', aliased, { hostKeys: [], knownHostsFile: known(`the-db ${ed25519}`) });
  expect(check.accept(blobOf(ed25519))).toBe(true);
});

test('a damaged line of known_hosts is named, and is no other key', () => {
  const file = known(`# hosts\ndb-2 ${other}\ndb-1 ${other.slice(0, -8)}\n`);
  const check = checkHostKey('db-1', config, { hostKeys: [], knownHostsFile: file });
  expect(check.accept(blobOf(ed25519))).toBe(false);
  expect(check.refusal()?.message).toMatch(
    /^db-1: the host key of db-1 is not known, so it is not trusted: /,
  );
  expect(check.refusal()?.message).toContain(`\n  ${file}:3 is about this host, and holds no whole key`);
});

test('a known_hosts file that cannot be read is named', () => {
  const folder = dirname(known(''));
  const check = checkHostKey('db-1', config, { hostKeys: [], knownHostsFile: folder });
  expect(check.accept(blobOf(ed25519))).toBe(false);
  expect(check.refusal()?.message).toContain(`\n  ${folder} is a folder`);
  const none = checkHostKey('db-1', config, { hostKeys: [], knownHostsFile: '/dev/null' });
  expect(none.accept(blobOf(ed25519))).toBe(false);
  expect(none.refusal()?.message).not.toContain('/dev/null');
});

test('without a known_hosts file no host is known', () => {
  const check = checkHostKey('db-1', config, { hostKeys: [], knownHostsFile: '/nowhere/known_hosts' });
  expect(check.accept(blobOf(ed25519))).toBe(false);
  expect(check.refusal()?.message).toMatch(
    /^db-1: the host key of db-1 is not known, so it is not trusted: ssh-ed25519 SHA256:/,
  );
  expect(check.refusal()?.hint).toMatch(/ssh-keyscan -t ed25519 db-1 >> \/nowhere\/known_hosts/);
});

test('a new key is put into the first file that keeps keys, or else into the inventory alone', () => {
  const hintOf = (text: string, knownHostsFile?: string) => {
    const check = checkHostKey('db-1', configOf(text), { hostKeys: [], knownHostsFile });
    expect(check.accept(blobOf(ed25519))).toBe(false);
    return check.refusal()?.hint;
  };
  expect(hintOf('userknownhostsfile /dev/null\nglobalknownhostsfile /nowhere/all')).toMatch(
    /ssh-keyscan -t ed25519 db-1 >> \/nowhere\/all\n {2}or put it into the inventory\n/,
  );
  for (const hint of [
    hintOf('', '/dev/null'),
    hintOf('userknownhostsfile none\nglobalknownhostsfile /dev/null'),
  ])
    expect(hint).toBe(
      `compare the fingerprint with that of \`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub\` on the host itself. If it is the same, put it into the inventory\n    host_key: ${ed25519}`,
    );
});
