import { quote } from '../quote.ts';
import { readScript, withArguments } from '../script.ts';
import { laneWatch } from '../transport/time-limit.ts';

/**
 * One command of a batch: its text for sh, its time limit, and its standard input, which may be
 * secret.
 */
export interface BatchCommand {
  readonly text: string;
  readonly timeoutSeconds: number;
  readonly stdin?: Buffer | undefined;
}

/**
 * Commands that run at once on a host: enough that waiting for one engine or server does not delay
 * the others.
 */
const lanes = 4;

/** The exit code of a batch without space for its output, as in batch.sh. */
export const noRoom = 75;

const script = readScript(new URL('batch.sh', import.meta.url));

/**
 * One script that runs all commands; `parseBatchReply` reads its output. Commands are assigned to
 * the lanes in turn, so the first of the batch start first.
 *
 * @param way careful sends each file up to its announced size and no further, at the cost of a
 * process for each
 * @returns `inputs` comes before `text`, and reads `stdin` to its end into variables: `read` takes
 * no byte beyond its line
 */
export function batchScript(commands: readonly BatchCommand[], way: 'quick' | 'careful') {
  const inputs = commands.flatMap(({ stdin }, index) => (stdin ? [{ name: `__in${index + 1}`, stdin }] : []));
  return {
    inputs: inputs.map(({ name }) => `IFS= read -r ${name}||exit\n`).join(''),
    stdin: inputs.map(({ stdin }) => `${stdin.toString('base64')}\n`).join(''),
    text: textOf(commands, way),
  };
}

function textOf(commands: readonly BatchCommand[], way: 'quick' | 'careful'): string {
  const runs = commands.map(
    ({ text, timeoutSeconds }, index) => `__run ${index + 1} ${Math.ceil(timeoutSeconds)} ${quote(text)}\n`,
  );
  const laneCount = Math.min(lanes, commands.length);
  const functions = Array.from({ length: laneCount }, (_, lane) => {
    const own = runs.filter((_, index) => index % laneCount === lane);
    return `__lane${lane}(){\n${own.join('')}}\n`;
  });
  return withArguments(laneWatch + functions.join('') + script, [way, laneCount, commands.length]);
}
