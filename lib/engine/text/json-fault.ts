/** Where a text stops being JSON, counted from 1 as editors count. */
export interface JsonFault {
  readonly line: number;
  readonly column: number;
  /** The character there; undefined at the end of the text. */
  readonly found: string | undefined;
}

/**
 * The first fault of a text that should be JSON. One character of the text is shown at most: the text
 * may hold a password.
 *
 * @returns undefined for JSON
 */
export function jsonFault(text: string): JsonFault | undefined {
  const message = messageOf(text);
  if (message === undefined) return undefined;
  const offset = isOfToken(message) ? offsetOfToken(text) : (positionIn(message) ?? text.length);
  const before = text.slice(0, offset).split('\n');
  return {
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
    found: text.slice(offset).trim() === '' ? undefined : [...text.slice(offset, offset + 2)][0],
  };
}

function messageOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as SyntaxError).message;
  }
}

/** This message quotes the text in place of a position. */
function isOfToken(message: string | undefined): boolean {
  return message?.startsWith('Unexpected token') ?? false;
}

function positionIn(message: string): number | undefined {
  const [, position] = /JSON at position (\d+)/.exec(message) ?? [];
  return position === undefined ? undefined : Number(position);
}

/** The end of the longest beginning of a text that has another fault: that it is cut. */
function offsetOfToken(text: string): number {
  let [fits, fails] = [0, text.length];
  while (fails - fits > 1) {
    const middle = Math.floor((fits + fails) / 2);
    if (isOfToken(messageOf(text.slice(0, middle)))) fails = middle;
    else fits = middle;
  }
  return fits;
}
