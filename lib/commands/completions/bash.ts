import type { OptionSpec } from '../../engine/command-line/command-line.ts';
import { quote } from '../../engine/host/quote.ts';
import type { Completed, Completions } from './completions.ts';

/** A script for bash 4 and later, with or without bash-completion. */
export function bashCompletions({ root, commands, run, variables }: Completions): string {
  const cases = Object.entries(commands).map(([name, command]) => `    ${name}.mjs)\n${caseOf(command)} ;;`);
  return `# Completes \`npx zx playbooks/…\` and \`zx playbooks/…\` in bash. Printed by playbooks/completions.mjs.

_rpc_playbooks() {
  local current=\${COMP_WORDS[COMP_CWORD]} option=\${COMP_WORDS[COMP_CWORD - 1]}
  local at playbook= root kind= options= words= inventory=lab zx=
  COMPREPLY=()

  for ((at = 0; at < COMP_CWORD; at++)); do
    case \${COMP_WORDS[at]} in
      zx | */zx) zx=1 ;;
      playbooks/*.mjs | */playbooks/*.mjs)
        playbook=\${COMP_WORDS[at]}
        break
        ;;
    esac
  done
  [[ $zx ]] || return
  if [[ ! $playbook ]]; then
    [[ $option == zx || $option == */zx ]] && _rpc_playbooks_offer "$(printf '%s\\n' playbooks/*.mjs)"
    return
  fi
  root=\${playbook%playbooks/*}
  root=\${root:-.}

  # --option=value comes as three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=\${COMP_WORDS[COMP_CWORD - 2]}
    # Of KEY=VALUE after --set nobody knows the value.
    [[ $option == -* ]] || option=--value
  fi
  case \${playbook##*/} in
${cases.join('\n')}
    *)
${caseOf(run)} ;;
  esac

  case $kind in
    inventory) _rpc_playbooks_offer "$(_rpc_playbooks_names "$root"/inventory/*.yaml)" ;;
    role) _rpc_playbooks_offer "$(_rpc_playbooks_names "$root"/roles/*.ts)" ;;
    host)
      for ((at += 1; at < COMP_CWORD; at++)); do
        case \${COMP_WORDS[at]} in -i | --inventory)
          inventory=\${COMP_WORDS[at + 1]}
          [[ $inventory == = ]] && inventory=\${COMP_WORDS[at + 2]}
          ;;
        esac
      done
      _rpc_playbooks_offer_list "$(node ${quote(`${root}/playbooks/completions.mjs`)} hosts "$root/inventory" "$inventory" 2>/dev/null)"
      ;;
    set)
      compopt -o nospace 2>/dev/null
      _rpc_playbooks_offer ${quote(variables.map((name) => `${name}=`).join('\n'))}
      ;;
    file) ;;
    value) compopt +o default +o bashdefault 2>/dev/null ;;
    '')
      if [[ $current == -* || ! $words ]]; then
        _rpc_playbooks_offer "$options"
      elif [[ $words != file ]]; then
        _rpc_playbooks_offer "$words"
      fi
      ;;
  esac
}

# Offers those of some names, one a line, that begin as the word does.
_rpc_playbooks_offer() {
  local name
  while IFS= read -r name; do
    [[ $name && $name == "$current"* ]] && COMPREPLY+=("$name")
  done <<<"$1"
}

# The same for the last name of a list.
_rpc_playbooks_offer_list() {
  local name before=
  [[ $current =~ ^(.*,)?[!\\&]? ]] && before=\${BASH_REMATCH[0]}
  while IFS= read -r name; do
    [[ $name && $before$name == "$current"* ]] && COMPREPLY+=("$before$name")
  done <<<"$1"
}

# Names of files, without folder and ending; tests are none.
_rpc_playbooks_names() {
  local path
  for path; do
    path=\${path##*/}
    path=\${path%.*}
    [[ $path == *.test || $path == '*' ]] || printf '%s\\n' "$path"
  done
}

complete -o bashdefault -o default -F _rpc_playbooks npx zx
`;
}

function caseOf({ options, words = [] }: Completed): string {
  const kinds = new Map<string, string[]>();
  for (const [name, option] of Object.entries(options)) {
    const kind = kindOf(name, option);
    if (kind === undefined) continue;
    const spellings = [...(option.short ? [`-${option.short}`] : []), `--${name}`];
    kinds.set(kind, [...(kinds.get(kind) ?? []), ...spellings]);
  }
  return [
    `      options=${quote(
      Object.keys(options)
        .map((name) => `--${name}`)
        .join('\n'),
    )}`,
    `      words=${quote(words === 'file' ? words : words.join('\n'))}`,
    '      case $option in',
    ...[...kinds].map(([kind, spellings]) => `        ${spellings.join(' | ')}) kind=${kind} ;;`),
    '        --value) kind=value ;;',
    '      esac',
  ].join('\n');
}

function kindOf(name: string, { value, completes }: OptionSpec): string | undefined {
  if (value === undefined) return undefined;
  if (name === 'set') return 'set';
  return typeof completes === 'string' ? completes : 'value';
}
