import { Composer, Lexer, Parser } from 'yaml';

/** Levels of nesting that are read. */
export const deepest = 64;

/** What the parser has on its stack beside the levels of nesting. */
const spare = 8;

/** A text that is nested so deeply that to go on would end the process: what follows the parser calls itself for each level. */
export class NestedTooDeeply extends Error {
  /** @param {number} offset where in the text */
  constructor(offset) {
    super(`nested more than ${deepest} levels deep`);
    this.offset = offset;
  }
}

/**
 * The document in a YAML text from anybody, and the second one where there are several. Syntax errors stand in each one's own list.
 *
 * @param {string} text
 * @param {import('yaml').ParseOptions & import('yaml').DocumentOptions & import('yaml').SchemaOptions} options
 * @returns {[import('yaml').Document.Parsed, ...import('yaml').Document.Parsed[]]}
 * @throws {NestedTooDeeply} before memory or the stack is used up
 */
export function yamlDocuments(text, options) {
  const composed = new Composer(options).compose(tokensOf(text, options.lineCounter), true, text.length);
  const first = /** @type {import('yaml').Document.Parsed} */ (composed.next().value);
  const second = composed.next();
  return second.done ? [first] : [first, second.value];
}

/**
 * As Parser.parse gives them, with a look at the depth after each word.
 *
 * @param {string} text
 * @param {import('yaml').LineCounter | undefined} lineCounter
 */
function* tokensOf(text, lineCounter) {
  const parser = new Parser(lineCounter?.addNewLine);
  lineCounter?.addNewLine(0);
  for (const word of new Lexer().lex(text)) {
    yield* parser.next(word);
    if (parser.stack.length > deepest + spare) throw new NestedTooDeeply(parser.offset);
  }
  yield* parser.end();
}
