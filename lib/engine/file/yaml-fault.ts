import type { Document } from 'yaml';
import { type Place, Problem } from '../problem/problem.ts';

const quotes = 'when in doubt, put the value in single quotes';

/** Syntax errors in plain words, each with a fix, by the parser's names. */
const faults: Readonly<Record<string, { readonly message: string; readonly hint: string }>> = {
  TAB_AS_INDENT: { message: 'YAML cannot be indented by tabs', hint: 'indent with spaces' },
  BAD_INDENT: {
    message: 'the indentation differs from the lines around it',
    hint: 'indent it as its neighbours, and close each bracket above',
  },
  BAD_SCALAR_START: { message: 'a value that starts with this character needs quotes', hint: quotes },
  BAD_DQ_ESCAPE: { message: 'this escape is not known inside double quotes', hint: quotes },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'this value needs quotes, or the next line another indentation',
    hint: quotes,
  },
  MISSING_CHAR: {
    message: 'a quote, a colon, a space or a bracket is missing here',
    hint: 'look here and in the lines above for an unclosed quote or bracket',
  },
  MULTILINE_IMPLICIT_KEY: {
    message: 'a colon is missing here',
    hint: 'a key and its value are written as KEY: VALUE',
  },
  TAG_RESOLVE_FAILED: { message: 'tags (!…) are not supported', hint: quotes },
};

/**
 * The faults worth showing: the first error, because the parser misreads everything after it;
 * without errors, all warnings. They never quote the file, which may hold a password.
 *
 * @param otherwise the message for an error that is not in the list, from the parser's own
 */
export function yamlProblems(
  documents: readonly Pick<Document, 'errors' | 'warnings'>[],
  placeOf: (offset: number) => Place,
  otherwise: (message: string) => string,
): Problem[] {
  const errors = documents.flatMap((document) => document.errors).sort((a, b) => a.pos[0] - b.pos[0]);
  const shown = errors.length > 0 ? errors.slice(0, 1) : documents.flatMap(({ warnings }) => warnings);
  return shown.map((error) => {
    const { message, hint } = faults[error.code] ?? { message: otherwise(error.message), hint: quotes };
    return new Problem(message, { where: placeOf(error.pos[0]), hint });
  });
}
