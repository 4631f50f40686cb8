import { expect, test } from 'vitest';
import poolDb from '../../../roles/pool-db.ts';
import stateDb from '../../../roles/state-db.ts';
import { describeVerdict } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';

test.each<[data: string | undefined, environment: string, words: string]>([
  ['15', 'PATH=/bin\nPG_MAJOR=15\nPG_VERSION=15.5\n', 'ok'],
  ['15', 'PG_MAJOR=16\n', '/data/state-db was made by PostgreSQL 15, and the image is PostgreSQL 16'],
  ['15', 'PATH=/bin\n', 'ok'],
  [undefined, 'PG_MAJOR=16\n', 'ok'],
])('data of PostgreSQL %s beside an image with %j', async (data, environment, words) => {
  const resources = await stateDb.resources(await contextOf({}));
  const at = resources.findIndex(({ name }) => name.endsWith('can read the data of state-db'));
  const host = fakeHost([[/^docker image inspect/, environment]], {
    read: async () => (data === undefined ? undefined : Buffer.from(`${data}\n`)),
  });
  const verdict = await resources[at]?.check(host);
  expect(verdict && describeVerdict(verdict)).toBe(words);
});

test.each([stateDb, poolDb])('it is asked before the container is replaced', async (role) => {
  const names = (await role.resources(await contextOf({}))).map(({ name }) => name);
  const asked = names.findIndex((name) => name.includes('can read the data of'));
  expect(asked).toBeGreaterThan(-1);
  expect(asked).toBeLessThan(names.findIndex((name) => name.includes('is running with its configuration')));
});
