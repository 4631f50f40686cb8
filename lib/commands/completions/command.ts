import { readFileSync } from 'node:fs';
import {
  type CommandOutput,
  type Completed,
  command,
  standardOutput,
} from '../../engine/command-line/command.ts';
import { parseCommandLine, shared } from '../../engine/command-line/command-line.ts';
import { quote } from '../../engine/host/quote.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { installation } from '../../node/project/project-folder.ts';
import { runOptions } from '../playbook/options.ts';
import { bashCompletions } from './bash.ts';
import type { Completions } from './completions.ts';
import { zshCompletions } from './zsh.ts';

const shells = { bash: bashCompletions, zsh: zshCompletions } as const;
const completionsOptions = { help: shared.help } as const;

interface CompletionsDependencies extends CommandOutput {
  /** The project's folder. */
  readonly root: string;
  /** What may follow each command, by its name. */
  readonly own: Readonly<Record<string, Completed>>;
}

/**
 * What the command depends on in a process.
 *
 * @param own what may follow each command, by its name
 */
export function withCommands(own: CompletionsDependencies['own'] = {}): CompletionsDependencies {
  return { ...standardOutput(), root: installation, own };
}

export const run = command({
  command: 'npx zx playbooks/completions.mjs',
  usage: 'bash|zsh',
  purpose: "prints a script that completes the playbooks' command lines.",
  options: completionsOptions,
  words: Object.keys(shells),
  examples: [
    'bash > ~/.rpc-playbooks.bash    # and in ~/.bashrc: . ~/.rpc-playbooks.bash',
    'zsh > ~/.zfunc/_rpc_playbooks   # in a folder of $fpath',
  ],
  exits: { 0: 'printed', 3: 'bad input' },
  more: [
    'The script completes playbooks, options, and the names of inventories, hosts, groups, roles and variables. It has the options of\nthe version that printed it, and looks up all other names.',
  ],
  parse: (args) => parseCommandLine(args, completionsOptions, Object.keys(shells)),
  around: withCommands,
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

function completionsOf(root: string, own: CompletionsDependencies['own']): Completions {
  return {
    commands: own,
    run: { options: runOptions },
    variables: variablesIn(
      JSON.parse(readFileSync(`${root}/inventory/schema.json`, 'utf8')).definitions.variables,
    ),
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
