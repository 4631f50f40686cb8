import { expect, test } from 'vitest';
import { applyDrift, drift } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { postgresIndex, sqlLiteral } from './postgres.ts';

test('a value stays inside its quotes', () => {
  expect(sqlLiteral("it's")).toBe("'it''s'");
  expect(sqlLiteral("\\'; drop table x --")).toBe("E'\\\\''; drop table x --'");
});

test('an index of that name on other columns is left alone, and reported', async () => {
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
  await expect(applyDrift(host, index)).rejects.toMatchObject({
    message: `index by_number exists with another definition: ${found}`,
    hint: 'rename or drop it; ON state.l2block USING btree (block_num) is wanted',
  });
});
