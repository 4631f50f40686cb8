import type { CommandOptions, Shell, Word } from './host.ts';
import type { Output } from './output.ts';
import { quote } from './quote.ts';

/**
 * Makes the tagged template out of what runs a command line.
 *
 * @param run is called in the tick in which the template stands
 */
export function shell(run: (command: string, options: CommandOptions) => Promise<Output>): Shell {
  function tag(pieces: TemplateStringsArray, ...words: readonly Word[]): Promise<Output>;
  function tag(options: CommandOptions): (pieces: TemplateStringsArray, ...words: readonly Word[]) => Promise<Output>;
  function tag(first: TemplateStringsArray | CommandOptions, ...words: readonly Word[]) {
    if (isPieces(first)) return start(first, words, {});
    return (pieces: TemplateStringsArray, ...words: readonly Word[]) => start(pieces, words, first);
  }
  // Async, so that a word that cannot be quoted rejects as any failure does.
  async function start(pieces: TemplateStringsArray, words: readonly Word[], options: CommandOptions): Promise<Output> {
    return run(commandLine(pieces, words), options);
  }
  return tag;
}

/** @throws TypeError as `quote` does */
export function commandLine(pieces: TemplateStringsArray, words: readonly Word[]): string {
  return pieces.map((piece, at) => (at === 0 ? piece : quote(words[at - 1] as Word) + piece)).join('');
}

function isPieces(first: TemplateStringsArray | CommandOptions): first is TemplateStringsArray {
  return Array.isArray(first);
}
