import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { describeVerdict, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { acceptsLogins, databasesAcceptLogins } from './log-in.ts';

const passwords = [
  ['state', 'state-secret'],
  ['pool', 'pool-secret'],
  ['prover', 'prover-secret'],
] as const;

const wanted = { configHash: 'a' };
const services = {
  'state-db': undefined,
  'pool-db': wanted,
  prover: wanted,
  sync: undefined,
  'json-rpc': wanted,
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'log-in-'));
  const made = folder;
  onTestFinished(() => rmSync(made, { recursive: true }));
});

/**
 * A psql that accepts the passwords of the inventory, except of one user, for whom it says
 * something else.
 */
function psql(user = '', words = '') {
  const accept = passwords.map(([name, password]) => `${name}_user:${name}_db:${password}) exit 0 ;;`);
  const script = `#!/bin/sh
echo "$*" >>${folder}/arguments
while [ $# -gt 0 ]; do
  case $1 in -h) host=$2 ;; -p) port=$2 ;; -U) user=$2 ;; -d) database=$2 ;; esac
  shift
done
[ "$user" != "${user}" ] || { printf '%s\\n' "psql: error: connection to server at \\"$host\\", port $port failed: ${words}" >&2; exit 2; }
case $user:$database:$PGPASSWORD in ${accept.join(' ')} esac
echo 'psql: error: FATAL:  password authentication failed' >&2
exit 2
`;
  writeFileSync(join(folder, 'psql'), script, { mode: 0o755 });
}

async function deployment(group: 'database' | 'rpc') {
  const changes = await Promise.all(
    passwords.map(async ([name, password]) => {
      const file = join(folder, name);
      writeFileSync(file, password, { mode: 0o600 });
      return [['vars', 'credentials', name, 'password'], `file:${file}`] as const;
    }),
  );
  return contextOf({ group, changes: changes.map(([path, value]) => [[...path], value]) });
}

const stopped = () => localHost(folder, { container: async () => undefined });
const check = async (resource: Resource, host = stopped()) => resource.check(host);

test.each(['database', 'rpc'] as const)(
  'a %s host tries all three databases, with no password in an argument',
  async (group) => {
    psql();
    expect(await check(databasesAcceptLogins(await deployment(group), services))).toEqual(ok);
    const lines = readFileSync(join(folder, 'arguments'), 'utf8').trim().split('\n');
    const state = group === 'database' ? '127.0.0.1' : '172.30.77.11';
    expect(lines.map((line) => / (-h .*) -c /.exec(line)?.[1])).toEqual(
      expect.arrayContaining([
        '-h 127.0.0.1 -p 5433 -U pool_user -d pool_db',
        `-h ${state} -p 5432 -U prover_user -d prover_db`,
        `-h ${state} -p 5432 -U state_user -d state_db`,
      ]),
    );
    expect(lines).toHaveLength(3);
    expect(lines.join()).not.toContain('secret');
  },
);

test('a refused user or password stops the run before anything is changed, in the words of the server', async () => {
  psql('prover_user', 'FATAL:  password authentication failed for user \\"prover_user\\"');
  const resource = databasesAcceptLogins(await deployment('rpc'), services);
  const verdict = await check(resource);
  expect(describeVerdict(verdict)).toBe(
    'prover database at 172.30.77.11:5432 refuses prover_user: password authentication failed for user "prover_user"',
  );
  await expect(applyDrift(stopped(), resource)).rejects.toMatchObject({
    hint: 'user, password and name of a database are those of its data directory: put them into credentials in the inventory. A deploy changes a password only after secrets.mjs rotate (docs/secrets.md, "Rotate passwords")',
  });
});

test.each([
  ['is starting', 'FATAL:  the database system is starting up'],
  ['is full', 'FATAL:  sorry, too many clients already'],
  [
    'does not listen',
    'Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?',
  ],
])('a server that %s is tried again in its turn', async (_, words) => {
  psql('state_user', words);
  const context = await deployment('rpc');
  expect(await check(databasesAcceptLogins(context, services))).toEqual(ok);
  expect(await check(acceptsLogins(context, ['state', 'prover'], services))).toEqual(
    unknownUntil('state-db answers at 172.30.77.11:5432'),
  );
  expect(await check(acceptsLogins(context, ['pool'], services))).toEqual(ok);
});

test('a server whose certificate is not verified is tried again, with the reason', async () => {
  // The words of libpq 15 for a certificate of another authority.
  psql('state_user', 'SSL error: certificate verify failed');
  const context = await deployment('rpc');
  expect(await check(acceptsLogins(context, ['state', 'prover'], services))).toEqual(
    unknownUntil(
      'state-db answers at 172.30.77.11:5432, with encryption: connection to server at "172.30.77.11", port 5432 failed: SSL error: certificate verify failed',
    ),
  );
});

test('a host without psql is tried again in its turn', async () => {
  const context = await deployment('rpc');
  const host = fakeHost([[/log-in/, 'absent\n']]);
  expect(await check(databasesAcceptLogins(context, services), host)).toEqual(ok);
  expect(await check(acceptsLogins(context, ['pool'], services), host)).toEqual(
    unknownUntil('postgresql-client-15 is installed'),
  );
});

test('components that run with the wanted configuration have logged in, and with another one have not', async () => {
  psql('pool_user', 'FATAL:  no');
  const context = await deployment('rpc');
  const resources = [acceptsLogins(context, ['pool'], services), databasesAcceptLogins(context, services)];
  const running = (configHash: string) =>
    localHost(folder, {
      container: async () => ({ ...runningContainer, labels: { [configHashLabel]: configHash } }),
    });
  const words = 'pool database at 127.0.0.1:5433 refuses pool_user: no';
  for (const resource of resources) {
    expect(await check(resource, running('a'))).toEqual(ok);
    expect(describeVerdict(await check(resource, running('b')))).toBe(words);
    expect(describeVerdict(await check(resource))).toBe(words);
  }
});
