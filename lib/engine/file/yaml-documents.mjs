import { Composer, Lexer, Parser } from 'yaml';

/** The deepest nesting that is accepted. */
const deepest = 64;

/** Entries on the parser's stack that are not nesting levels. */
const spare = 8;

/** Reading stops after this many misplaced tokens: the composer's time grows with their square. */
const mostMisplaced = 100;

/**
 * Thrown for text that is nested too deeply: code after the parser calls itself for each level.
 * Where it exhausts the stack inside of a regular expression, Node ends at once, and no error can
 * be caught.
 */
export class NestedTooDeeply extends Error {
  /**
   * @param {number} offset in the text
   */
  constructor(offset) {
    super(`nested more than ${deepest} levels deep`);
    this.offset = offset;
  }
}

/**
 * The first document of an untrusted YAML text, and the second one if there are several. `errors`
 * of each lists its syntax errors.
 *
 * @param {string} text
 * @param {import('yaml').ParseOptions & import('yaml').DocumentOptions &
 * import('yaml').SchemaOptions} options
 * @returns {[import('yaml').Document.Parsed, ...import('yaml').Document.Parsed[]]}
 * @throws {NestedTooDeeply} before memory or the stack is exhausted
 */
export function yamlDocuments(text, options) {
  const composed = new Composer(options).compose(tokensOf(text, options.lineCounter), true, text.length);
  const first = /** @type {import('yaml').Document.Parsed} */ (composed.next().value);
  const second = composed.next();
  return second.done ? [first] : [first, second.value];
}

/**
 * As Parser.parse, with a check of the depth after each lexeme, and an end at the last misplaced
 * token that is read.
 *
 * @param {string} text
 * @param {import('yaml').LineCounter | undefined} lineCounter
 */
function* tokensOf(text, lineCounter) {
  const parser = new Parser(lineCounter?.addNewLine);
  lineCounter?.addNewLine(0);
  let misplaced = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      yield token;
      if (token.type === 'error' && ++misplaced === mostMisplaced) return;
    }
    if (parser.stack.length > deepest + spare) throw new NestedTooDeeply(parser.offset);
  }
  yield* parser.end();
}
