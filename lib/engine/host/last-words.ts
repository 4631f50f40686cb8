import { readScript } from './script.ts';

/**
 * Shell that prints the last lines of one run of a unit, as `sh -c ${lastWords} last-words ${unit}
 * 8 --unit=${unit}`. Its arguments: the run or the unit, the number of lines, and what journalctl
 * takes of the journal.
 */
export const lastWords = readScript(new URL('last-words.sh', import.meta.url));

/** The same as a function `last_words` at the beginning of another script. */
export const lastWordsFunction = `last_words() {\n${lastWords}}\n`;
