/** Needs no quoting anywhere in a command. `~` and `=` are not among them: at a word's start they mean something. */
const plain = /^[A-Za-z0-9_/.,:@%+-]+$/;

/** A text as one word for a POSIX shell: in commands that are run, and in those that an operator is told to run. */
export function shellWord(text: string): string {
  if (plain.test(text)) return text;
  // Inside single quotes nothing is special but their end.
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
