import type { Completed } from '../../engine/command-line/command.ts';
import type { OptionSpec } from '../../engine/command-line/command-line.ts';
import { quote } from '../../engine/host/quote.ts';
import type { Completions } from './completions.ts';

/**
 * What a script for zsh, to be sourced or to be put into a folder of $fpath, has of the options.
 */
export function zshCompletions({ commands, run, variables }: Completions) {
  const cases = Object.entries(commands).map(
    ([name, command]) => `    (${name}.mjs) _arguments -s -S ${specsOf(command)} ;;`,
  );
  return {
    variables: variables.map(quote).join(' '),
    cases: [...cases, `    (*) _arguments -s -S ${specsOf(run)} ;;`].join('\n'),
  };
}

function specsOf({ options, words = [] }: Completed): string {
  const specs = Object.entries(options).flatMap(([name, option]) => specsOfOption(name, option));
  return [...specs, ...wordSpecs(words)].map((spec) => `\\\n      ${quote(spec)}`).join(' ');
}

function wordSpecs(words: NonNullable<Completed['words']>): string[] {
  if (words === 'file') return ['1:file:_files'];
  return words.length > 0 ? [`1:what:(${words.join(' ')})`] : [];
}

function specsOfOption(name: string, option: OptionSpec): string[] {
  const { short, value, repeat, help } = option;
  const [first = ''] = help.split('\n');
  const says = `[${first.replace(/[[\]\\]/g, '\\$&')}]`;
  const action = value === undefined ? '' : `:${value}:${actionOf(name, option)}`;
  const spellings = [...(short ? [`-${short}`] : []), `--${name}`];
  const either = spellings.length > 1 ? `(${spellings.join(' ')})` : '';
  const once = repeat ? '*' : either;
  return spellings.map((spelling) => {
    const sign = spelling.startsWith('--') ? '=' : '+';
    return `${once}${spelling}${value === undefined ? '' : sign}${says}${action}`;
  });
}

/** A blank action offers nothing and shows only the name of the value. */
function actionOf(name: string, { completes }: OptionSpec): string {
  if (name === 'set') return '_rpc_playbooks_set';
  if (completes === 'file') return '_files';
  if (typeof completes === 'string') return `_rpc_playbooks_${completes}`;
  return completes ? `(${completes.join(' ')})` : ' ';
}
