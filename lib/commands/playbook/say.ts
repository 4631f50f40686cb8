import { complain } from '../../engine/command-line/command.ts';

/** Prints a message on standard error, beside what the run prints. */
export const say = complain;

/** Prints a line on standard output. */
export const print = (line: string) => void process.stdout.write(`${line}\n`);
