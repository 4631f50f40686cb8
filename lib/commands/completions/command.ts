import { readFileSync } from 'node:fs';
import { command, type Output, standardOutput } from '../../engine/command-line/command.ts';
import { type OptionTable, parseCommandLine, shared } from '../../engine/command-line/command-line.ts';
import { quote } from '../../engine/host/quote.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { installation } from '../../node/project/project-folder.ts';
import { serviceNames } from '../../node/variables/services.ts';
import { factsOptions } from '../facts/command.ts';
import { historyOptions } from '../history/command.ts';
import { initOptions } from '../init/command.ts';
import { logsOptions } from '../logs/command.ts';
import { pingOptions } from '../ping/command.ts';
import { runOptions } from '../playbook/options.ts';
import { rollbackOptions } from '../playbook/rollback.ts';
import { renderOptions } from '../render/command.ts';
import { reportOptions } from '../report/command.ts';
import { runCommandOptions } from '../run/command.ts';
import { secretsOptions, verbs } from '../secrets/options.ts';
import { statusOptions } from '../status/command.ts';
import { validateOptions } from '../validate/command.ts';
import { bashCompletions } from './bash.ts';
import { zshCompletions } from './zsh.ts';

const shells = { bash: bashCompletions, zsh: zshCompletions } as const;
const completionsOptions = { help: shared.help } as const;

interface CompletionsDependencies extends Output {
  /** The project's folder. */
  readonly root: string;
  /** The own options of playbooks, by the playbook's name. */
  readonly own: Readonly<Record<string, OptionTable>>;
}

/** As a process has it. @param own options of playbooks */
export const withPlaybooks = (own: CompletionsDependencies['own'] = {}): CompletionsDependencies => {
  return { ...standardOutput(), root: installation, own };
};

export const run = command({
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
  parse: (args) => parseCommandLine(args, completionsOptions, Object.keys(shells)),
  around: withPlaybooks,
  work({ words: [shell] }, { root, own, say }) {
    if (shell === undefined) {
      const hint = `one of ${Object.keys(shells).join(', ')}`;
      throw new Problem('the name of the shell is missing', { hint });
    }
    const script = readFileSync(`${root}/templates/completions/completions.${shell}`, 'utf8');
    const parts = { project: quote(root), ...shells[shell as keyof typeof shells](completionsOf(root, own)) };
    say(script.replaceAll(/\{\{ (\w+) \}\}/g, (_, name: keyof typeof parts) => parts[name]).trimEnd());
    return exitCode.converged;
  },
});

/** The words that may follow a playbook on the command line. */
export interface Completed {
  readonly options: OptionTable;
  /** Words without dashes. */
  readonly words?: readonly string[] | 'file';
}

/** The data of the scripts. */
export type Completions = ReturnType<typeof completionsOf>;

function completionsOf(root: string, own: CompletionsDependencies['own']) {
  const commands: Readonly<Record<string, Completed>> = {
    ...Object.fromEntries(
      Object.entries(own).map(([name, options]) => [name, { options: { ...options, ...runOptions } }]),
    ),
    render: { options: renderOptions },
    status: { options: statusOptions },
    validate: { options: validateOptions },
    ping: { options: pingOptions },
    facts: { options: factsOptions },
    history: { options: historyOptions },
    init: { options: initOptions, words: 'file' },
    logs: { options: logsOptions, words: serviceNames },
    run: { options: runCommandOptions },
    secrets: { options: secretsOptions, words: Object.keys(verbs) },
    report: { options: reportOptions, words: 'file' },
    rollback: { options: { ...rollbackOptions, ...runOptions } },
    completions: { options: completionsOptions, words: Object.keys(shells) },
  };
  return {
    /** By name: those that are not playbooks, and playbooks with options of their own. */
    commands,
    /** All other playbooks. */
    run: { options: runOptions } as Completed,
    /** Names of variables, for `--set`: `ports.rpc_http`. */
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
