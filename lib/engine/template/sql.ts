const token =
  /'(?<literal>(?:[^']|'')*)'|"(?<identifier>(?:[^"]|"")*)"|(?<comment>--[^\n]*)|(?<text>(?:(?!--|\/\*|\$\w*\$)[^'"])+)/gy;

/**
 * Cuts an SQL script for psql into tokens, as psql does with standard_conforming_strings on. They
 * show whether a value stays inside its quotes.
 *
 * @returns the value of a literal or quoted identifier without its quotes, of any other token the
 * text
 * @throws SyntaxError with `pos`, the offset, for a quote that does not end and for syntax that
 * these scripts do without
 */
export function tokenizeSql(sql: string) {
  const tokens = [...sql.matchAll(token)];
  const end = tokens.reduce((sum, [text]) => sum + text.length, 0);
  if (end < sql.length) {
    const isOpen = /['"]/.test(sql.charAt(end));
    const reason = isOpen ? 'a quote does not end' : 'block comments and dollar quotes are not supported';
    throw Object.assign(new SyntaxError(reason), { pos: [end] });
  }
  return tokens.map(({ groups }) => {
    const { literal, identifier, comment, text = '' }: Partial<Record<string, string>> = groups ?? {};
    if (literal !== undefined) return { kind: 'literal', value: literal.replaceAll("''", "'") };
    if (identifier !== undefined) return { kind: 'identifier', value: identifier.replaceAll('""', '"') };
    return comment === undefined ? { kind: 'text', value: text } : { kind: 'comment', value: comment };
  });
}
