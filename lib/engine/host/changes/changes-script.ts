import { quote } from '../quote.ts';
import type { Repeated } from '../reads/recorded-read.ts';
import { readScript, sharedWords, withArguments } from '../script.ts';
import type { Step } from '../step.ts';
import { inText, scriptOf } from '../step-script.ts';
import { laneWatch } from '../transport/time-limit.ts';

/**
 * A change: its steps, and what repeats the reads of its check and of the checks since the change
 * before it.
 */
export interface ReadyChange {
  readonly steps: readonly Step[];
  /** Left out for the first change of a request: nothing came between its check and it. */
  readonly conditions?: Repeated;
}

const none: Repeated = { paths: [], outputs: [] };

/**
 * How a script of changes ended: at which change, counted from 1, and for a failure at which of
 * its steps.
 */
export interface ChangesEnd {
  readonly change: number;
  readonly why: 'done' | 'failed' | 'outdated' | 'stopped';
  readonly step: number;
  readonly code: number;
}

const script = readScript(new URL('changes.sh', import.meta.url));

/** One script that makes changes in order, and its standard input: contents with secrets. */
export function changesScript(
  changes: readonly ReadyChange[],
  nonce: string,
): { text: string; stdin: string } {
  const secrets: string[] = [];
  const { word, definitions } = sharedWords();
  const functions = changes.map(({ steps, conditions: { paths, outputs } = none }, index) => {
    const lines = steps.map((step, at) => stepLine(step, at + 1, secrets, word));
    const repeat = outputs.map((text) => `(eval ${word(text)}) 2>&1;echo $?\n`).join('');
    return `__steps${index + 1}(){\n${lines.join('||return\n')}||return\n}
__conditions${index + 1}(){\n${repeat}:\n}
__same${index + 1}(){\n__same ${quote(paths)}${repeat && ` && __again ${index + 1}`}\n}\n`;
  });
  const all = [...new Set(changes.flatMap(({ conditions = none }) => conditions.paths))];
  return {
    text: withArguments(definitions() + laneWatch + functions.join('') + script, [
      nonce,
      changes.length,
      all,
    ]),
    stdin: secrets.map((secret) => `${secret}\n`).join(''),
  };
}

function stepLine(step: Step, number: number, secrets: string[], word: (text: string) => string): string {
  const { text, stdin, seconds, allow, isSecret } = scriptOf(step);
  const run = `__do ${number} ${seconds} ' ${allow.join(' ')} ' ${word(text)}`;
  if (stdin === undefined) return `${run} </dev/null`;
  if (!isSecret) return `${inText(stdin)} | ${run}`;
  secrets.push(stdin.toString('base64'));
  return `__secret | ${run}`;
}

/**
 * The lines of changes.sh, and what follows them.
 *
 * @returns undefined before the last of them
 */
export function parseChangesEnd(
  printed: Buffer,
  nonce: string,
): { end: ChangesEnd; rest: Buffer } | undefined {
  const at = printed.indexOf(`${nonce} end `);
  const after = printed.indexOf('\n', at);
  if (at < 0 || after < 0) return undefined;
  const [change, why, step, code] = printed.toString('latin1', at + nonce.length + 5, after).split(' ');
  const end = {
    change: Number(change),
    why: why as ChangesEnd['why'],
    step: Number(step),
    code: Number(code),
  };
  return { end, rest: printed.subarray(after + 1) };
}
