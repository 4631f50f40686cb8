/** What a syntax error of YAML is, and what to do about it; never the text that it met, which might be a password. */
export interface YamlFault {
  readonly message: string;
  readonly hint: string;
}

const quotes = 'when in doubt, put the value in single quotes';

const faults: Readonly<Record<string, YamlFault>> = {
  TAB_AS_INDENT: { message: 'YAML cannot be indented by tabs', hint: 'indent with spaces' },
  BAD_INDENT: { message: 'this is not indented as the lines around it', hint: 'give it the indent of its neighbours' },
  BAD_SCALAR_START: { message: 'a value that begins so has to stand in quotes', hint: quotes },
  BAD_DQ_ESCAPE: { message: 'double quotes take no such escape', hint: quotes },
  BLOCK_AS_IMPLICIT_KEY: { message: 'this value needs quotes, or the line below it another indent', hint: quotes },
  MISSING_CHAR: {
    message: 'a quote, a colon, a space or a bracket is missing here',
    hint: 'look here and in the lines above for what was opened and not closed',
  },
  MULTILINE_IMPLICIT_KEY: { message: 'a colon is missing here', hint: 'a key and its value are written as KEY: VALUE' },
  TAG_RESOLVE_FAILED: { message: 'there may be no tags (!…)', hint: quotes },
};

/**
 * @param code the parser's own name of an error
 * @param otherwise what is said of one that has no words here
 */
export function yamlFault(code: string, otherwise: string): YamlFault {
  return faults[code] ?? { message: otherwise, hint: quotes };
}

/** What the parser says of a place. */
interface Said {
  readonly code: string;
  readonly message: string;
  readonly pos: readonly [number, number];
}

/**
 * What to tell of what the parser found wrong: of its errors the first, for it loses its way there and calls what follows wrong as
 * well; where there are none, all of its warnings.
 */
export function telling<E extends Said, W extends Said>(
  errors: readonly E[],
  warnings: readonly W[],
): readonly (E | W)[] {
  const [first, ...others] = errors;
  return first ? [others.reduce((least, error) => (error.pos[0] < least.pos[0] ? error : least), first)] : warnings;
}
