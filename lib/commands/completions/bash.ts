import type { Completed } from '../../engine/command-line/command.ts';
import type { OptionSpec } from '../../engine/command-line/command-line.ts';
import { quote } from '../../engine/host/quote.ts';
import type { Completions } from './completions.ts';

/** What a script for bash 4 and later, with or without bash-completion, has of the options. */
export function bashCompletions({ commands, run, variables }: Completions) {
  const cases = Object.entries(commands).map(([name, command]) => `    ${name}.mjs)\n${caseOf(command)} ;;`);
  return {
    variables: quote(variables.map((name) => `${name}=`).join('\n')),
    cases: [...cases, `    *)\n${caseOf(run)} ;;`].join('\n'),
  };
}

function caseOf({ options, words = [] }: Completed): string {
  const kinds = new Map<string, string[]>();
  for (const [name, option] of Object.entries(options)) {
    const kind = kindOf(name, option);
    if (kind === undefined) continue;
    const spellings = [...(option.short ? [`-${option.short}`] : []), `--${name}`];
    kinds.set(kind, [...(kinds.get(kind) ?? []), ...spellings]);
  }
  const names = Object.keys(options).map((name) => `--${name}`);
  return [
    `      options=${quote(names.join('\n'))}`,
    `      words=${quote(words === 'file' ? words : words.join('\n'))}`,
    '      case $2 in',
    ...[...kinds].map(([kind, spellings]) => `        ${spellings.join(' | ')}) kind=${kind} ;;`),
    '        --value) kind=value ;;',
    '      esac',
  ].join('\n');
}

function kindOf(name: string, { value, completes }: OptionSpec): string | undefined {
  if (value === undefined) return undefined;
  if (name === 'set') return 'set';
  return typeof completes === 'object' ? quote(`list ${completes.join('\n')}`) : (completes ?? 'value');
}
