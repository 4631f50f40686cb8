import type { FormatName } from './format.ts';

/** Which template it is: for places in problems, and for the rules of its format. */
export interface Source {
  readonly file: string;
  readonly format: FormatName;
}
