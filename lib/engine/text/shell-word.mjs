/** Characters that need no quotes. `~` and `=` do: they are special at the start of a word. */
const plain = /^[A-Za-z0-9_/.,:@%+-]+$/;

/**
 * A text as one word for a POSIX shell, in commands that run and in commands of hints.
 *
 * @param {string} text
 */
export function shellWord(text) {
  if (plain.test(text)) return text;
  // Inside single quotes only the closing quote is special.
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
