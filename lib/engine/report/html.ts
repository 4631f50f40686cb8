import { printable } from '../text/printable.ts';

/** Markup that may go into a page as it is. */
export interface Html {
  readonly markup: string;
}

/**
 * The values of a template: text and numbers are escaped, lists are joined, `false` and
 * `undefined` are left out.
 */
export type Part = Html | string | number | false | undefined | readonly Part[];

/**
 * A template for HTML. Only `html` and `trusted` make markup; everything else becomes text, safe
 * as content and in a quoted attribute. Characters that control a terminal or change the direction
 * of text are escaped.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: strings.reduce((markup, string, at) => markup + markupOf(parts[at - 1]) + string) };
}

/** Text of this project's own files, which is markup already. */
export function trusted(markup: string): Html {
  return { markup };
}

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function markupOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string')
    return printable(part).replace(/[&<>"']/g, (character) => escapes[character] ?? '');
  return 'markup' in part ? part.markup : part.map(markupOf).join('');
}
