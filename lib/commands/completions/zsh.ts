import type { OptionSpec } from '../../engine/command-line/command-line.ts';
import { quote } from '../../engine/host/quote.ts';
import type { Completed, Completions } from './completions.ts';

/** A script for zsh, to be sourced or to stand in a folder of $fpath. */
export function zshCompletions({ root, commands, run, variables }: Completions): string {
  const cases = Object.entries(commands).map(
    ([name, command]) => `    (${name}.mjs) _arguments -s -S ${specsOf(command)} ;;`,
  );
  return `#compdef npx zx
# Completes \`npx zx playbooks/…\` and \`zx playbooks/…\` in zsh. Printed by playbooks/completions.mjs.

_rpc_playbooks() {
  local at playbook root expl
  for (( at = 2; at < CURRENT; at++ )); do
    [[ $words[at] == (playbooks|*/playbooks)/*.mjs ]] && break
  done
  if (( at >= CURRENT )); then
    if [[ $words[CURRENT-1] == (zx|*/zx) ]]; then
      _wanted playbooks expl playbook compadd -- playbooks/*.mjs(N) || _default
    else
      _default
    fi
    return
  fi
  playbook=$words[at]
  root=\${playbook:h:h}
  words=("\${(@)words[at,-1]}")
  (( CURRENT -= at - 1 ))
  case \${playbook:t} in
${cases.join('\n')}
    (*) _arguments -s -S ${specsOf(run)} ;;
  esac
}

_rpc_playbooks_inventory() {
  local -a names=($root/inventory/*.yaml(N:t:r))
  _wanted inventories expl inventory compadd -a names || _files -g '*.y(a|)ml(-.)'
}

_rpc_playbooks_role() {
  local -a names=($root/roles/*.ts(N:t:r))
  names=(\${names:#*.test})
  _wanted roles expl role compadd -a names
}

_rpc_playbooks_host() {
  local at inventory=lab
  local -a names
  for (( at = 2; at < CURRENT; at++ )); do
    case $words[at] in
      (-i | --inventory) inventory=$words[at+1] ;;
      (--inventory=*) inventory=\${words[at]#*=} ;;
      (-i?*) inventory=\${words[at]#-i} ;;
    esac
  done
  names=(\${(f)"$(node ${quote(`${root}/playbooks/completions.mjs`)} hosts $root/inventory $inventory 2>/dev/null)"})
  compset -P '*,'
  compset -P '(\\\\|)[&!]'
  _wanted hosts expl 'host or group' compadd -a names
}

_rpc_playbooks_set() {
  local -a names=(${variables.map(quote).join(' ')})
  if compset -P '*='; then
    _message value
  else
    _wanted variables expl variable compadd -qS = -a names
  fi
}

if [[ $funcstack[1] == _rpc_playbooks ]]; then
  _rpc_playbooks "$@"
else
  compdef _rpc_playbooks npx zx
fi
`;
}

function specsOf({ options, words = [] }: Completed): string {
  const specs = Object.entries(options).flatMap(([name, option]) => specsOfOption(name, option));
  const behind = words === 'file' ? ['1:file:_files'] : words.length > 0 ? [`1:what:(${words.join(' ')})`] : [];
  return [...specs, ...behind].map((spec) => `\\\n      ${quote(spec)}`).join(' ');
}

function specsOfOption(name: string, option: OptionSpec): string[] {
  const { short, value, repeat, help } = option;
  const [first = ''] = help.split('\n');
  const says = `[${first.replace(/[[\]\\]/g, '\\$&')}]`;
  const action = value === undefined ? '' : `:${value}:${actionOf(name, option)}`;
  const spellings = [...(short ? [`-${short}`] : []), `--${name}`];
  const once = repeat ? '*' : spellings.length > 1 ? `(${spellings.join(' ')})` : '';
  return spellings.map((spelling) => {
    const joined = value === undefined ? '' : spelling.startsWith('--') ? '=' : '+';
    return `${once}${spelling}${joined}${says}${action}`;
  });
}

/** An action of one blank offers nothing and says only what is wanted. */
function actionOf(name: string, { completes }: OptionSpec): string {
  if (name === 'set') return '_rpc_playbooks_set';
  if (completes === 'file') return '_files';
  if (typeof completes === 'string') return `_rpc_playbooks_${completes}`;
  return completes ? `(${completes.join(' ')})` : ' ';
}
