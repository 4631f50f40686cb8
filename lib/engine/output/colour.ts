import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Colours text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

/**
 * Uses colours on a terminal only, and never where NO_COLOR or CI is set (https://no-color.org).
 *
 * @param allowed false with --no-color
 */
export function paintFor(stream: { readonly isTTY?: boolean }, allowed = true): Paint {
  const plain = !allowed || !stream.isTTY || Boolean(process.env.NO_COLOR) || Boolean(process.env.CI);
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}
