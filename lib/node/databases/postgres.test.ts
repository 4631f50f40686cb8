import { expect, test } from 'vitest';
import { drift } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { postgresIndex, psqlCommand, sqlIdentifier, sqlLiteral } from './postgres.ts';

test('a value stays inside its quotes', () => {
  expect(sqlLiteral("it's")).toBe("'it''s'");
  expect(sqlLiteral("\\'; drop table x --")).toBe("E'\\\\''; drop table x --'");
  expect(sqlIdentifier('a"b')).toBe('"a""b"');
});

test('a name cannot add words to the command', () => {
  expect(psqlCommand({ container: 'state-db', user: 'u x', database: '$(id)' })).toMatch(
    / state-db psql .* '--username=u x' '--dbname=\$\(id\)'$/,
  );
});

test('an index of that name on other columns is left alone, and told', async () => {
  const index = postgresIndex({
    target: { container: 'state-db', user: 'u', database: 'd' },
    name: 'by_number',
    table: 'state.l2block',
    columns: ['block_num'],
  });
  const found = 'CREATE INDEX by_number ON state.l2block USING hash (hash)';
  const host = fakeHost([], { sql: async () => ({ ok: true, rows: [['t', found, 't']] }) });
  expect(await index.check(host)).toEqual(
    drift([{ what: 'index', was: found, wanted: 'ON state.l2block USING btree (block_num)' }]),
  );
  await expect(index.apply(host)).rejects.toMatchObject({
    message: `index by_number exists and is another one: ${found}`,
    hint: 'ON state.l2block USING btree (block_num) is wanted: rename or drop the existing one',
  });
});
