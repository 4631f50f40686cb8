import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { describeVerdict, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../../engine/resource/testing/test-host.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import type { Variables } from '../variables/variables.ts';
import { stateDatabase } from './databases.ts';
import { acceptsLogins, databasesAcceptLogins, wayBack } from './log-in.ts';
import { afterPasswordChange, fileHasTemporaryLogins } from './move-login.ts';
import {
  newPasswordsAreAccepted,
  passwordsAreChanged,
  temporaryLoginsAreAccepted,
  temporaryLoginsAreThere,
} from './temporary-login.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rotation-'));
  const made = folder;
  onTestFinished(() => rmSync(made, { recursive: true }));
});

const busy = 'FATAL:  sorry, too many clients already';

/** A psql whose servers accept the former passwords, except of one user (`*`: each), who hears
 * other words. */
function psql(user = 'nobody', words = busy) {
  const script = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -U) user=$2 ;; esac
  shift
done
case $user in ${user}) ;; *) false ;; esac && { echo 'psql: error: ${words}' >&2; exit 2; }
[ "$PGPASSWORD" != former.Pw~1 ] || exit 0
echo 'psql: error: FATAL:  password authentication failed' >&2
exit 2
`;
  writeFileSync(join(folder, 'psql'), script, { mode: 0o755 });
}

/** A server whose passwords are being changed. */
async function inRotation(group: 'database' | 'rpc', without: readonly string[] = []) {
  const includes = (host: string, role: string) => !without.includes(host) && !without.includes(role);
  const context = await contextOf({ group, includes });
  const rotated = <T extends { readonly password: Secret }>(each: T) => ({
    ...each,
    password: new Secret('new.Pw~1', new Secret('former.Pw~1')),
  });
  const { state, pool, prover } = context.vars.credentials;
  const credentials = { state: rotated(state), pool: rotated(pool), prover: rotated(prover) };
  return { ...context, vars: { ...context.vars, credentials } as Variables };
}

const written: Resource = { name: 'file node.config.toml', check: async () => ok };

/** All steps of a rotation that read or change the state database. */
async function steps(group: 'database' | 'rpc'): Promise<Resource[]> {
  const context = await inRotation(group);
  return [
    temporaryLoginsAreThere(context, ['state', 'prover'], stateDatabase(context.vars)),
    temporaryLoginsAreAccepted(context, ['state', 'prover']),
    fileHasTemporaryLogins(context, 'node.config.toml'),
    passwordsAreChanged(context, ['state', 'prover'], stateDatabase(context.vars)),
    newPasswordsAreAccepted(context, ['state', 'prover']),
    afterPasswordChange(context, written),
  ];
}

const verdicts = (resources: readonly Resource[], host: TestHost) =>
  Promise.all(resources.map((each) => each.check(host)));
const each = (words: string) => Array(6).fill(unknownUntil(words));

test.each([busy, 'FATAL:  the database system is starting up', 'timeout expired'])(
  'no step of a rotation goes on while a server says %s',
  async (words) => {
    psql('state_user', words);
    const silent = 'state-db answers at 172.30.77.11:5432';
    expect(await verdicts(await steps('rpc'), localHost(folder))).toEqual(each(silent));
    const here = 'state-db answers at 127.0.0.1:5432';
    expect(await verdicts(await steps('database'), localHost(folder))).toEqual(each(here));
  },
);

test('no step of a rotation goes on without psql, or where the answers took too long', async () => {
  const container = async () => runningContainer;
  const without = fakeHost([[/log-in/, 'absent\n']], { container });
  expect(await verdicts(await steps('rpc'), without)).toEqual(each('postgresql-client-15 is installed'));
  const late = fakeHost([[/log-in/, { exitCode: 124, stdout: '1 psql: error: FATAL:  no\n' }]], {
    container,
  });
  const silent = unknownUntil('state-db answers at 172.30.77.11:5432');
  expect((await verdicts(await steps('rpc'), late)).slice(0, 2)).toEqual([silent, silent]);
});

test('a server without containers has nothing to move', async () => {
  psql('*', 'Connection refused');
  const container = async () => undefined;
  for (const host of [localHost(folder, { container }), fakeHost([[/log-in/, 'absent\n']])])
    for (const group of ['rpc', 'database'] as const)
      expect(await verdicts(await steps(group), host)).toEqual(Array(6).fill(ok));
});

const remedy = `deploy all servers and roles: without --limit, --role and --skip-role. ${wayBack}`;

test.each([
  ['--limit', ['rpc-1'], 'rpc-1 is not part of this run'],
  ['--role', ['temporary-logins'], 'db-1, rpc-1, rpc-2 is not part of this run'],
])('with %s no password is changed, also where preflight had no answer', async (_, without, words) => {
  psql();
  const context = await inRotation('database', without);
  const of = ['state', 'prover'] as const;
  for (const resource of [
    temporaryLoginsAreThere(context, of, stateDatabase(context.vars)),
    passwordsAreChanged(context, of, stateDatabase(context.vars)),
  ])
    await expect(applyDrift(localHost(folder), resource)).rejects.toMatchObject({
      message: `the password of the state and prover database is being changed, and ${words}`,
      hint: remedy,
    });
});

const services = {
  'state-db': undefined,
  'pool-db': undefined,
  prover: { configHash: 'a' },
  sync: undefined,
  'json-rpc': undefined,
};

test('a switch during a rotation is refused before anything is changed, and hears the way out', async () => {
  psql();
  const context = { ...(await inRotation('database')), roles: new Set(['preflight', 'configuration']) };
  await expect(applyDrift(localHost(folder), databasesAcceptLogins(context, services))).rejects.toMatchObject(
    {
      message:
        'the password of the state and prover and pool database is being changed, and only a deploy changes passwords',
      hint: remedy,
    },
  );
  const deploy = { ...context, roles: new Set(['temporary-logins']) };
  expect(await databasesAcceptLogins(deploy, services).check(localHost(folder))).toEqual(ok);
});

test('components and files that wait for a password name the way out', async () => {
  psql();
  const context = await inRotation('database');
  for (const resource of [
    acceptsLogins(context, ['state', 'prover'], services),
    afterPasswordChange(context, written),
  ]) {
    expect(describeVerdict(await resource.check(localHost(folder)))).toMatch(
      /^unknown until the password of the state and prover( and pool)? database is changed/,
    );
    expect(resource.hint).toMatch(/exchange the state and the prover password .* by secrets\.mjs edit/);
  }
});

test('a recovery does not wait for the server that it replaces', async () => {
  psql('state_user', 'Connection refused');
  const context = { ...(await inRotation('database')), given: { 'to-time': 'latest' } };
  expect(afterPasswordChange(context, written)).toBe(written);
});
