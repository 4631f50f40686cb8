import { execFileSync } from 'node:child_process';
import type { Step } from '../../host/step.ts';
import { scriptOf } from '../../host/step-script.ts';
import type { Sent } from './recorded-run.ts';

/**
 * What a host is asked to do for a step: bytes in hexadecimal, the time limit in seconds, the exit
 * codes that are no failure.
 */
export interface SentStep {
  readonly text: string;
  /** A secret, which comes by the request's standard input, has the mark `secret:` before it. */
  readonly stdin: string;
  readonly seconds: number;
  readonly allow: readonly number[];
}

/** Takes the place of what makes the steps on a host: prints a line for each. */
const shown = `
__secret() { IFS= read -r __line && printf secret: && printf %s "$__line" | base64 -d; }
__hex() { od -An -v -tx1 | tr -d ' \\n'; }
__do() { echo "$(printf %s "$4" | __hex)|$(__hex)|$2|$3"; }
`;

/**
 * The steps in the requests that make changes: a list for each change, in order. The shell of this
 * machine reads the requests as a host's shell does, so no code that made them takes part.
 */
export function sentSteps(sent: readonly Sent[]): SentStep[][] {
  return sent.flatMap(({ script, stdin }) => {
    // Definitions alone: what runs them follows, and is left out.
    const definitions = /^[\s\S]*^__same\d+\(\)\{\n.*\n\}\n/m.exec(script)?.[0];
    if (definitions === undefined) return [];
    const count = definitions.match(/^__steps\d+\(\)\{$/gm)?.length ?? 0;
    const calls = Array.from({ length: count }, (_, at) => `echo change\n__steps${at + 1}\n`).join('');
    const printed = execFileSync('sh', ['-c', `${definitions}${shown}${calls})`], {
      input: stdin,
    }).toString();
    const changes = printed.split('change\n').slice(1);
    return changes.map((lines) => lines.split('\n').filter(Boolean).map(parse));
  });
}

function parse(line: string): SentStep {
  const [text = '', stdin = '', seconds, allow = ''] = line.split('|');
  return { text, stdin, seconds: Number(seconds), allow: allow.trim().split(' ').map(Number) };
}

/** What a step of a plan asks a host to do. */
export function plannedStep(step: Step): SentStep {
  const { text, stdin = Buffer.alloc(0), seconds, allow, isSecret } = scriptOf(step);
  const hex = (bytes: string | Buffer) => Buffer.from(bytes).toString('hex');
  return { text: hex(text), stdin: (isSecret ? hex('secret:') : '') + hex(stdin), seconds, allow };
}
