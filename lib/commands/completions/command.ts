import { readFileSync } from 'node:fs';
import { type HelpPage, helpText, parseCommandLine } from '../../engine/command-line/command-line.ts';
import { shared } from '../../engine/command-line/shared-options.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { type ExitCode, exitCode, Problem } from '../../engine/problem/problem.ts';
import { serviceNames } from '../../node/variables/services.ts';
import { factsOptions } from '../facts/command.ts';
import { historyOptions } from '../history/command.ts';
import { logsOptions } from '../logs/command.ts';
import { pingOptions } from '../ping/command.ts';
import { runOptions } from '../playbook/options.ts';
import { rollbackOptions } from '../playbook/rollback.ts';
import { renderOptions } from '../render/options.ts';
import { reportOptions } from '../report/command.ts';
import { runCommandOptions } from '../run/command.ts';
import { secretsOptions, verbs } from '../secrets/options.ts';
import { statusOptions } from '../status/options.ts';
import { validateOptions } from '../validate/command.ts';
import { bashCompletions } from './bash.ts';
import type { Completions } from './completions.ts';
import { zshCompletions } from './zsh.ts';

const shells = { bash: bashCompletions, zsh: zshCompletions } as const;
const completionsOptions = { help: shared.help } as const;

const page: HelpPage = {
  command: 'npx zx playbooks/completions.mjs',
  usage: 'bash|zsh',
  purpose: "prints a script that completes the playbooks' command lines.",
  options: completionsOptions,
  examples: [
    'bash > ~/.rpc-playbooks.bash    # and in ~/.bashrc: . ~/.rpc-playbooks.bash',
    'zsh > ~/.zfunc/_rpc_playbooks   # in a folder of $fpath',
  ],
  exits: { 0: 'printed', 3: 'bad input' },
  more: [
    'The script completes playbooks, options, and the names of inventories, hosts, groups, roles and variables. It has the options of\nthe version that printed it, and looks up all other names.',
  ],
};

export interface CompletionsDependencies {
  /** The project's folder. */
  readonly root: string;
  say(text: string): void;
  complain(line: string): void;
}

/** Runs the command. @param args the words after the script */
export function completionsCommand(
  args: readonly string[],
  { root, say, complain }: CompletionsDependencies,
): ExitCode {
  try {
    const names = Object.keys(shells);
    const { given, words } = parseCommandLine(args, completionsOptions, names);
    if (given.help) {
      say(helpText(page).trimEnd());
      return exitCode.converged;
    }
    const [shell] = words;
    if (shell === undefined)
      throw new Problem('the name of the shell is missing', { hint: `one of ${names.join(', ')}` });
    const script = readFileSync(`${root}/templates/completions/completions.${shell}`, 'utf8');
    say(shells[shell as keyof typeof shells](completionsOf(root), script).trimEnd());
    return exitCode.converged;
  } catch (error) {
    complain(describeError(error));
    return error instanceof Problem ? error.code : exitCode.failed;
  }
}

function completionsOf(root: string): Completions {
  return {
    root,
    commands: {
      render: { options: renderOptions },
      status: { options: statusOptions },
      validate: { options: validateOptions },
      ping: { options: pingOptions },
      facts: { options: factsOptions },
      history: { options: historyOptions },
      logs: { options: logsOptions, words: serviceNames },
      run: { options: runCommandOptions },
      secrets: { options: secretsOptions, words: Object.keys(verbs) },
      report: { options: reportOptions, words: 'file' },
      rollback: { options: { ...rollbackOptions, ...runOptions } },
      completions: { options: completionsOptions, words: Object.keys(shells) },
    },
    run: { options: runOptions },
    variables: variablesIn(JSON.parse(readFileSync(`${root}/inventory/schema.json`, 'utf8')).definitions.variables),
  };
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Names of all variables that are not groups of others. */
function variablesIn({ properties = {} }: Schema, path: readonly string[] = []): string[] {
  return Object.entries(properties).flatMap(([name, inner]) => {
    const own = [...path, name];
    return inner.properties ? variablesIn(inner, own) : [own.join('.')];
  });
}
