import { printable } from '../text/printable.ts';

/** Stands for a text that is not there. */
export const noText = -1;

/**
 * Every text of a report once: a hundred hosts say the same. What would steer a terminal, or turn the direction of text around,
 * is written out here.
 */
export class TextTable {
  readonly #places = new Map<string, number>();
  readonly texts: string[] = [];

  /** @returns where the text stands, or `noText` */
  add(text: string | undefined): number {
    if (text === undefined) return noText;
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const place = this.texts.length;
    this.#places.set(text, place);
    this.texts.push(printable(text));
    return place;
  }
}
