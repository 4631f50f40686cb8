import * as z from 'zod';
import { quote } from '../../host/quote.ts';
import { readScript } from '../../host/script.ts';
import { describeStep } from '../../host/step.ts';
import { sha256Of } from '../../resource/file/content.ts';
import { redact } from '../../secret/secret.ts';
import { parseJson } from '../../text/parse-json.ts';
import type { TaskRun } from '../host-run.ts';
import type { LockHolder } from './lock-holder.ts';

/**
 * Who changed a host, when and how it ended: a file on that host, to which lines are only added.
 */
export const journalFolder = '/var/lib/rpc-playbooks';

const script = readScript(new URL('journal.sh', import.meta.url));

const text = z.string();
const schema = z.discriminatedUnion('at', [
  /**
   * Before the first change of a run on this host. `plan` is a hash of the changes that were due
   * then.
   */
  z.object({
    at: z.literal('begin'),
    run: text,
    time: z.iso.datetime(),
    who: text,
    playbook: text,
    inventory: text,
    commit: text.optional(),
    plan: text,
  }),
  /** After the last one. Without it, the run was interrupted or killed. */
  z.object({
    at: z.literal('end'),
    run: text,
    time: z.iso.datetime(),
    ended: z.enum(['converged', 'failed', 'stopped', 'interrupted']),
    why: text.optional(),
    changed: z.array(text),
    failed: z.array(text),
  }),
]);

/** One line of a journal. `run` is the same on all hosts of a run. */
export type JournalLine = z.output<typeof schema>;

/** The lines of a journal, in order, and the number of those that are not valid. */
export function parseJournal(journal: string): {
  readonly lines: readonly JournalLine[];
  readonly bad: number;
} {
  const all = journal.split('\n').filter((line) => line.trim() !== '');
  const lines = all.flatMap((line) => schema.safeParse(parseJson(line)).data ?? []);
  return { lines, bad: all.length - lines.length };
}

/**
 * The line before the first change of a run on a host.
 *
 * @param taskRuns its tasks, checked
 * @param now milliseconds since 1970
 */
export function beginLine(holder: LockHolder, taskRuns: readonly TaskRun[], now: number): string {
  const { token: run, who, playbook, inventory, commit } = holder;
  const due = taskRuns.flatMap(({ task, resource, seen }) =>
    seen?.is === 'drift' && !resource.expects
      ? [[task.role, task.resource, Array.isArray(seen.change) ? seen.change.map(describeStep) : '']]
      : [],
  );
  const plan = sha256Of(JSON.stringify(due)).slice(0, 16);
  return lineOf({
    at: 'begin',
    run,
    time: new Date(now).toISOString(),
    who,
    playbook,
    inventory,
    commit,
    plan,
  });
}

/** How a run ended on a host. */
export type RunEnd = Omit<JournalLine & { at: 'end' }, 'at' | 'run' | 'time'>;

/** The line after the last change. */
export function endLine({ token: run }: LockHolder, end: RunEnd): string {
  return lineOf({ at: 'end', run, time: new Date().toISOString(), ...end });
}

function lineOf(line: JournalLine): string {
  return redact(JSON.stringify(line));
}

/**
 * A command for sh that appends a line to a host's journal. It prints nothing, and ends the script
 * where it cannot.
 */
export function appending(line: string, folder = journalFolder): string {
  const words = [script, 'journal', folder].map(quote).join(' ');
  return `printf '%s\\n' ${quote(line)} | sh -c ${words} || { echo "the journal in ${folder} cannot be written" >&2; exit 1; }\n`;
}
