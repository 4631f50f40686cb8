import { expect, test } from 'vitest';
import { describeUnmet, ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { indexesHaveTheirColumns, postgresIndex, sqlLiteral } from './postgres.ts';

test('a value stays inside its quotes', () => {
  expect(sqlLiteral("it's")).toBe("'it''s'");
  expect(sqlLiteral("\\'; drop table x --")).toBe("E'\\\\''; drop table x --'");
});

test('an index of that name on other columns is left alone, with a warning that shows both definitions', async () => {
  const target = { container: 'state-db', user: 'u', database: 'd' };
  const index = { target, name: 'by_number', table: 'state.l2block', columns: ['block_num'] };
  const having = (definition: string) =>
    fakeHost([], { sql: async () => ({ ok: true, rows: [['t', definition, 't']] }) });
  const other = 'CREATE INDEX by_number ON state.l2block USING hash (hash)';
  expect(await postgresIndex(index).check(having(other))).toEqual(ok);

  const warning = indexesHaveTheirColumns([index]);
  expect(warning.expects).toBe('should');
  const verdict = await warning.check(having(other));
  expect(describeUnmet(warning, verdict)).toBe(
    `index by_number: ${other} -> CREATE INDEX by_number ON state.l2block USING btree (block_num)
rename or drop each index above; the next deploy creates it on the columns of the specification`,
  );
  expect(
    await warning.check(having('CREATE INDEX by_number ON state.l2block USING btree (block_num)')),
  ).toEqual(ok);
  expect(await warning.check(fakeHost([]))).toEqual(ok);
});
