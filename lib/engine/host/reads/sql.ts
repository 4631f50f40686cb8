import { randomBytes } from 'node:crypto';
import type { SqlResult, SqlTarget } from '../host.ts';
import type { Output } from '../output.ts';
import { quote } from '../quote.ts';
import type { VectorRead } from './batch.ts';

/** Separates the results of the queries in the output of psql; no row can contain it. */
const nonce = randomBytes(12).toString('hex');

/**
 * Below the time limit of the whole read, so that the server reports which query took too long.
 */
const statementTimeout = '50s';

/** A server that hangs accepts the connection. Seconds: less than status waits for a host. */
const connectionTimeout = 12;

/**
 * One `psql` in the container for all queries to one database, in a read-only session. Each query
 * runs inside COPY: its text format escapes tabs, line breaks and backslashes and distinguishes
 * NULL from the empty text.
 */
export const sqlRead: VectorRead<{ readonly target: SqlTarget; readonly query: string }, SqlResult> = {
  name: 'sql',
  id: (query) => JSON.stringify(query),
  group: ({ target }) => JSON.stringify(target),
  command(queries) {
    const { container = '', user = '', database = '' } = queries[0]?.target ?? {};
    const options = `PGOPTIONS=-c default_transaction_read_only=on -c statement_timeout=${statementTimeout}`;
    const lines = queries.flatMap(({ query }) => [
      // The bracket is on a line of its own, as the query may end in a comment.
      `COPY (\n${query.trim().replace(/;$/, '')}\n) TO STDOUT;`,
      `\\echo ${nonce} :ERROR`,
      '\\if :ERROR',
      '\\echo :LAST_ERROR_MESSAGE',
      '\\endif',
      `\\echo ${nonce}`,
    ]);
    return `printf '%s\\n' ${quote(lines)}|docker exec -i -e PGCLIENTENCODING=UTF8 \
-e PGCONNECT_TIMEOUT=${connectionTimeout} -e ${quote(options)} ${quote(container)} psql -X -q -U ${quote(user)} -d ${quote(database)}`;
  },
  answers(output, queries) {
    // Rows of the first, its result, rows of the second, …
    const parts = output.stdout.split(new RegExp(`^${nonce}(?: |\\n)`, 'm'));
    return new Map(
      queries.map((query, index) => [
        sqlRead.id(query),
        resultOf(parts[2 * index], parts[2 * index + 1], output),
      ]),
    );
  },
  absent: () => ({ ok: false, error: 'no answer' }),
};

function resultOf(rows: string | undefined, ending: string | undefined, output: Output): SqlResult {
  // psql did not start or did not connect.
  if (rows === undefined || ending === undefined) {
    return { ok: false, error: output.stderr.trim() || 'psql gave no answer' };
  }
  const [failed, ...message] = ending.trimEnd().split('\n');
  if (failed !== 'false') return { ok: false, error: message.join('\n') || output.stderr.trim() };
  return { ok: true, rows: rows === '' ? [] : rows.replace(/\n$/, '').split('\n').map(readRow) };
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** A line in COPY's text format. */
function readRow(line: string): (string | null)[] {
  return line
    .split('\t')
    .map((field) =>
      field === '\\N' ? null : field.replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? letter),
    );
}
