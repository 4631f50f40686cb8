import { expect, test } from 'vitest';
import { psqlCommand, sqlIdentifier, sqlLiteral } from './postgres.ts';

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
