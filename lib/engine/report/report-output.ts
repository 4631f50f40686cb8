import type { Output } from '../file/private-output.ts';

/** How a file of a report is known. */
export const reportOutput: Output = { what: 'a report', begins: '<!doctype html>' };
