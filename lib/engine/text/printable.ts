/** Longer lines are cut: nobody reads them. Characters. */
const widest = 2000;

/**
 * Control characters, and characters that change the direction of text. Line breaks and tabs are
 * text.
 */
const controls = /(?![\t\n])[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

/**
 * Text of a host, a file or a command line, with terminal control characters escaped: `\x1b`,
 * `\u202e`.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(controls, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}

/** Like printable, with very long lines cut: for text of a host or a file. */
export function readable(text: string): string {
  const lines = printable(text).split('\n');
  return lines.map((line) => (line.length > widest ? `${line.slice(0, widest)}…` : line)).join('\n');
}
