import { styleText } from 'node:util';

/** A colour of the terminal, whatever it shows for it, or another look. */
export type Colour = 'bold' | 'cyan' | 'dim' | 'green' | 'magenta' | 'red' | 'yellow';

/** Colours text, or returns it unchanged. */
export type Paint = (colour: Colour, text: string) => string;

/**
 * Uses colours on a terminal only, and never where NO_COLOR or CI is set (https://no-color.org).
 *
 * @param allowed false with --no-color
 */
export function paintFor(stream: { readonly isTTY?: boolean }, allowed = true): Paint {
  const plain = !allowed || !stream.isTTY || Boolean(process.env.NO_COLOR) || Boolean(process.env.CI);
  return plain
    ? (_colour, text) => text
    : (colour, text) => styleText(colour, text, { validateStream: false });
}
