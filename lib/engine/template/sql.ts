/** One piece of an SQL script: a literal or quoted identifier with its value, or anything else as it stands. */
export interface SqlToken {
  readonly kind: 'literal' | 'identifier' | 'comment' | 'text';
  readonly value: string;
}

/**
 * Cuts an SQL script for psql into literals, quoted identifiers, comments and the rest, as psql does with
 * standard_conforming_strings on. That is what tells whether a value stays inside its quotes.
 *
 * @throws SyntaxError with the offset, for quotes and comments that do not end
 */
export function tokenizeSql(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let text = '';
  let i = 0;
  const push = (kind: SqlToken['kind'], value: string): void => {
    if (text !== '') tokens.push({ kind: 'text', value: text });
    text = '';
    tokens.push({ kind, value });
  };
  while (i < sql.length) {
    const rest = sql.slice(i);
    const character = sql[i] ?? '';
    if (character === "'" || character === '"') {
      const end = closingQuote(sql, i, character);
      push(
        character === "'" ? 'literal' : 'identifier',
        sql.slice(i + 1, end).replaceAll(character.repeat(2), character),
      );
      i = end + 1;
    } else if (rest.startsWith('--')) {
      const comment = /^[^\n]*/.exec(rest)?.[0] ?? '';
      push('comment', comment);
      i += comment.length;
    } else if (rest.startsWith('/*') || /^\$\w*\$/.test(rest)) {
      throw new SyntaxError(`offset ${i}: block comments and dollar quotes are not used in these scripts`);
    } else {
      text += character;
      i += 1;
    }
  }
  if (text !== '') tokens.push({ kind: 'text', value: text });
  return tokens;
}

function closingQuote(sql: string, start: number, quote: string): number {
  let end = sql.indexOf(quote, start + 1);
  while (end !== -1 && sql[end + 1] === quote) end = sql.indexOf(quote, end + 2);
  if (end === -1) throw new SyntaxError(`offset ${start}: a quote that does not end`);
  return end;
}
