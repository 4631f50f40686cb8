import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type CommandOutput, command, standardOutput } from '../../engine/command-line/command.ts';
import { parseCommandLine, shared } from '../../engine/command-line/command-line.ts';
import { shown } from '../../engine/file/shown-path.ts';
import { columns } from '../../engine/output/columns.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { endingOf } from '../../engine/report/ending.ts';
import { type FoundRecord, readRecord, recordsIn } from '../../engine/report/record.ts';
import { reportBeside, safeName } from '../../engine/report/record-name.ts';
import { eventOf } from '../../engine/report/recorded-event.ts';
import { writeReport } from '../../engine/report/write-report.ts';
import { counted } from '../../engine/text/counted.ts';
import { didYouMean } from '../../engine/text/suggest.ts';
import { recordFolder } from '../../node/project/project-folder.ts';

interface ReportDependencies extends CommandOutput {
  /** The folder of the records. */
  readonly folder: string;
}

export const reportOptions = {
  inventory: { ...shared.inventory, help: 'records of this inventory only' },
  out: {
    short: 'o',
    value: 'FILE',
    help: 'the file to write; without it, beside the record, and removed together with it',
    completes: 'file',
  },
  list: { help: 'list the records, newest first, and write nothing' },
  help: shared.help,
} as const;

export const run = command({
  command: 'npx zx playbooks/report.mjs',
  usage: '[RECORD] [options]',
  purpose: 'writes a run as one HTML page that opens from disk: the newest run, or RECORD.',
  options: reportOptions,
  words: 'file',
  examples: ['', '--inventory mainnet --out report.html', '--list', '.runs/20241121T164235Z-lab.ndjson'],
  exits: { 0: 'written, or listed', 3: 'bad input, or no such record' },
  more: ['RECORD is a file of .runs, or the output of --json. The page has mode 0600 and holds no secret.'],
  parse,
  around: (): ReportDependencies => ({ ...standardOutput(), folder: recordFolder }),
  work({ given, words: [record] }, { folder, say }) {
    if (given.out === '')
      throw new Problem('--out names no file', { hint: 'name a file: --out report.html' });
    if (given.list && (record !== undefined || given.out !== undefined)) {
      throw new Problem('--list writes no report', { hint: `leave out ${record ?? '--out'}` });
    }
    if (record !== undefined && given.inventory !== undefined) {
      throw new Problem('RECORD and --inventory do not go together', { hint: 'either chooses the record' });
    }
    if (given.list) {
      for (const line of listed(given.inventory, folder)) say(line);
      return exitCode.converged;
    }
    const path = record === undefined ? newest(given.inventory, folder) : named(record, folder);
    const out = given.out ?? reportBeside(path);
    writeReport(path, out);
    say(shown(out));
    return exitCode.converged;
  },
});

function parse(args: readonly string[]) {
  try {
    return parseCommandLine(args, reportOptions, args);
  } catch (error) {
    if (!(error instanceof Problem) || !error.message.startsWith('unexpected word')) throw error;
    throw new Problem(error.message, { hint: 'a report is of one record; see --help' });
  }
}

/** A line for each record, in columns. */
function listed(inventory: string | undefined, folder: string): string[] {
  const rows = ofInventory(inventory, folder).map(({ path }) => rowOf(path));
  if (rows.length === 0) {
    if (inventory !== undefined) throw noneOf(inventory, folder);
    return [`no run is recorded in ${shown(folder)}`];
  }
  return columns(rows, 4);
}

/**
 * Time, playbook and mode, inventory, hosts, ending, file. For a record that cannot be read: the
 * reason.
 */
function rowOf(path: string): string[] {
  try {
    const events = readRecord(path);
    const started = eventOf(events, 'run-started');
    if (!started) return ['', '', '', '', '', shown(path)];
    const { time, playbook, check, inventory, hosts } = started;
    return [
      `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`,
      `${playbook}${check ? ' --check' : ''}`,
      inventory,
      counted(hosts.length, 'host'),
      endingOf(events).text,
      shown(path),
    ];
  } catch (error) {
    return ['', '', '', '', `cannot be read: ${describeError(error).split('\n')[0]}`, shown(path)];
  }
}

function newest(inventory: string | undefined, folder: string): string {
  const [record] = ofInventory(inventory, folder);
  if (record) return record.path;
  throw noneOf(inventory, folder);
}

function noneOf(inventory: string | undefined, folder: string): Problem {
  const known = new Set(recordsIn(folder).map((each) => each.inventory));
  const of = inventory === undefined ? '' : ` of ${inventory}`;
  return new Problem(`no run${of} is recorded in ${shown(folder)}`, {
    hint:
      inventory !== undefined && known.size > 0
        ? didYouMean(inventory, known)
        : 'each run leaves a record: npx zx playbooks/deploy.mjs --inventory NAME --check',
  });
}

function ofInventory(nameOrFile: string | undefined, folder: string): readonly FoundRecord[] {
  const name = nameOrFile && safeName(basename(nameOrFile).replace(/\.ya?ml$/, ''));
  return recordsIn(folder).filter(({ inventory }) => name === undefined || inventory === name);
}

/** A path, or the name of a record with or without its ending. */
function named(record: string, folder: string): string {
  const found = [record, join(folder, record), join(folder, `${record}.ndjson`)].find((path) =>
    existsSync(path),
  );
  if (found !== undefined) return found;
  const names = recordsIn(folder).map(({ path }) => basename(path));
  throw new Problem(`there is no record ${record}`, {
    hint: names.length > 0 ? didYouMean(record, names.slice(0, 5)) : '--list shows the records',
  });
}
