import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { standInFor, temporaryDirectory } from '../testing/local-connection.ts';
import { resolveSshConfig } from './resolve-ssh-config.ts';

/** The hosts that ssh is asked for, where it reads this configuration. */
async function askedFor(config: string, version = 'OpenSSH_9.2p1'): Promise<readonly string[]> {
  const file = join(temporaryDirectory(), 'config');
  writeFileSync(file, config);
  // It prints as the real one does, but reads this configuration and not the account's.
  const folder = standInFor(
    'ssh',
    `[ "$1" = -F ] && exit
for last; do :; done
printf '%s\\n' "$last" >>"$(dirname "$0")/asked"
[ "$1" = -v ] && printf '%s\\r\\n' '${version}, OpenSSL' 'debug1: Reading configuration data ${file}' >&2
printf '%s\\n' "host $last" "hostname is-$last" 'user anna' 'hostkeyalias none'`,
  );
  const given = ['10.0.0.1', '10.0.0.2', 'DB'];
  const found = await Promise.all(given.map((host) => resolveSshConfig(host, host)));
  const asked = join(folder, 'asked');
  const hosts = existsSync(asked) ? readFileSync(asked, 'utf8').trim().split('\n').sort() : [];
  const isCommon = hosts.length === 1;
  expect(found.map(({ host, user }) => `${user}@${host}`)).toEqual(
    given.map((host) => `anna@${isCommon ? host.toLowerCase() : `is-${host}`}`),
  );
  return hosts;
}

const once = ['any.invalid'];
const each = ['10.0.0.1', '10.0.0.2', 'DB', 'any.invalid'];

test.each([
  '',
  'Host *\n  SendEnv LANG LC_*\n',
  '# Host db, 100 %\nUser anna\n',
  'Include /etc/ssh/ssh_config.d/*.conf\n\tHost\t*\nUser anna\n',
])('ssh is asked once where its configuration is the same for all hosts: %j', async (config) => {
  expect(await askedFor(config)).toEqual(once);
});

test.each([
  'Host db\n  User anna\n',
  'Host * !db\n  User anna\n',
  'host=db\nUser anna\n',
  'Host "db"\nUser anna\n',
  'Match user root\n  Port 22\n',
  '  HostName %h.internal\n',
  'Host *\n  HostName one.internal\n',
  'CanonicalizeHostname yes\n',
  'IdentityFile ~/.ssh/%h\n',
])('ssh is asked for each host where its configuration has settings for single hosts: %j', async (config) => {
  expect(await askedFor(config)).toEqual(each);
});

test('ssh is asked for each host where it does not say which files it reads', async () => {
  expect(await askedFor('', 'Other_1.0')).toEqual(each);
});
