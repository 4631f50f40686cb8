import { describeError } from '../output/describe-error.ts';
import { wrappedFor } from '../output/wrapped.ts';
import { type ExitCode, exitCode, exitCodeOfError } from '../problem/problem.ts';
import { fieldsOf } from '../text/keys.ts';
import { outliveOutput } from './closed-pipe.ts';
import { type Given, type HelpPage, helpText, type OptionTable, parseCommandLine } from './command-line.ts';

/** Where a command prints: what was asked for, and its errors. */
export interface CommandOutput {
  say(text: string): void;
  complain(text: string): void;
}

/** A command line as given: its options, and its words without dashes. */
interface CommandLine<T extends OptionTable> {
  readonly given: Given<T>;
  readonly words: readonly string[];
}

/** What a shell offers behind the name of a command. */
export interface Completed {
  readonly options: OptionTable;
  /** Words without dashes, or the names of files. */
  readonly words?: readonly string[] | 'file' | undefined;
}

/** A command that is not a playbook. */
interface Command<T extends OptionTable, A extends CommandOutput> extends HelpPage {
  readonly options: T;
  /** The words that a shell offers. Default: none. */
  readonly words?: Completed['words'];
  /**
   * Reads the command line. Default: options without words.
   *
   * @throws Problem
   */
  readonly parse?: (args: readonly string[]) => CommandLine<T>;
  /** What it depends on when it is not a test. */
  readonly around: () => A;
  work(line: CommandLine<T>, around: A): ExitCode | Promise<ExitCode>;
}

/** Runs a command with the words after its script. */
export interface RunCommand<A extends CommandOutput> {
  (args: readonly string[], around?: A): Promise<ExitCode>;
  readonly completed: Completed;
}

/**
 * Makes the function of a command. It prints the help, or does the work and reports its error.
 *
 * @returns a function of the words after the script, with what a shell offers there
 */
export function command<T extends OptionTable, A extends CommandOutput>(page: Command<T, A>): RunCommand<A> {
  const { options, words, parse = (args: readonly string[]) => parseCommandLine(args, options) } = page;
  const run = async (args: readonly string[], around = page.around()): Promise<ExitCode> => {
    try {
      const line = parse(args);
      if (fieldsOf(line.given).help) {
        around.say(wrappedFor(helpText(page).trimEnd(), process.stdout));
        return exitCode.converged;
      }
      return await page.work(line, around);
    } catch (error) {
      around.complain(describeError(error));
      return exitCodeOfError(error);
    }
  };
  return Object.assign(run, { completed: { options, words } });
}

/** Prints a message on standard error, wrapped where that is a terminal. */
export function complain(text: string): void {
  process.stderr.write(`${wrappedFor(text, process.stderr)}\n`);
}

/** Standard output and standard error of this process. */
export function standardOutput(): CommandOutput {
  outliveOutput();
  return { say: (text) => console.log(text), complain };
}
