import type { CommandOptions, Shell, Word } from './host.ts';
import type { Output } from './output.ts';
import { quote } from './quote.ts';

/**
 * Makes the tagged template from a function that runs a command line.
 *
 * @param run is called in the tick of the template
 */
export function shell(run: (command: string, options: CommandOptions) => Promise<Output>): Shell {
  // Async, so that a word that cannot be quoted rejects as any failure does.
  const start = async (options: CommandOptions, pieces: TemplateStringsArray, words: readonly Word[]) =>
    run(commandText(pieces, words), options);
  const tag = (first: TemplateStringsArray | CommandOptions, ...words: readonly Word[]) =>
    'raw' in first
      ? start({}, first, words)
      : (pieces: TemplateStringsArray, ...later: readonly Word[]) => start(first, pieces, later);
  return tag as Shell;
}

/**
 * The text of a tagged template, each word quoted.
 *
 * @throws TypeError as `quote` does
 */
export function commandText(pieces: readonly string[], words: readonly Word[]): string {
  return pieces.map((piece, at) => (at === 0 ? piece : quote(words[at - 1] as Word) + piece)).join('');
}
