/** A YAML syntax error in plain words, with a fix. It never quotes the file, which may hold a password. */
export interface YamlFault {
  readonly message: string;
  readonly hint: string;
}

const quotes = 'when in doubt, put the value in single quotes';

const faults: Readonly<Record<string, YamlFault>> = {
  TAB_AS_INDENT: { message: 'YAML cannot be indented by tabs', hint: 'indent with spaces' },
  BAD_INDENT: {
    message: 'the indentation differs from the lines around it',
    hint: 'indent it as its neighbours, and close each bracket above',
  },
  BAD_SCALAR_START: { message: 'a value that starts with this character needs quotes', hint: quotes },
  BAD_DQ_ESCAPE: { message: 'this escape is not known inside double quotes', hint: quotes },
  BLOCK_AS_IMPLICIT_KEY: { message: 'this value needs quotes, or the next line another indentation', hint: quotes },
  MISSING_CHAR: {
    message: 'a quote, a colon, a space or a bracket is missing here',
    hint: 'look here and in the lines above for an unclosed quote or bracket',
  },
  MULTILINE_IMPLICIT_KEY: { message: 'a colon is missing here', hint: 'a key and its value are written as KEY: VALUE' },
  TAG_RESOLVE_FAILED: { message: 'tags (!…) are not supported', hint: quotes },
};

/**
 * @param code the parser's name of the error
 * @param otherwise the message for an error that is not in the list
 */
export function yamlFault(code: string, otherwise: string): YamlFault {
  return faults[code] ?? { message: otherwise, hint: quotes };
}

/** An error or a warning of the parser. */
interface Fault {
  readonly code: string;
  readonly message: string;
  readonly pos: readonly [number, number];
}

/**
 * The errors worth showing: the first one, because the parser misreads everything after it. Without errors, all warnings.
 */
export function worthShowing<E extends Fault, W extends Fault>(
  errors: readonly E[],
  warnings: readonly W[],
): readonly (E | W)[] {
  const [first, ...others] = errors;
  return first ? [others.reduce((least, error) => (error.pos[0] < least.pos[0] ? error : least), first)] : warnings;
}
