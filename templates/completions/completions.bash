# Completes `npx zx playbooks/…`, `zx playbooks/…` and `rpc-playbooks …` in bash. Printed by playbooks/completions.mjs, which fills in
# the braces.
# shellcheck shell=bash disable=SC2154
_rpc_playbooks_project={{ project }}
_rpc_playbooks_variables={{ variables }}
# Sets options, words and kind for a playbook and the option before the cursor.
_rpc_playbooks_command() {
  case $1 in
{{ cases }}
  esac
}

_rpc_playbooks() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
  local at playbook='' root='' kind='' options='' words='' inventory='' zx=''
  COMPREPLY=()
  for ((at = 0; at < COMP_CWORD; at++)); do
    case ${COMP_WORDS[at]} in
      zx | */zx) zx=1 ;;
      playbooks/*.mjs | */playbooks/*.mjs)
        playbook=${COMP_WORDS[at]}
        break
        ;;
      rpc-playbooks | */rpc-playbooks)
        zx=1
        root=$(_rpc_playbooks_folder)
        ((at += 1))
        if ((at == COMP_CWORD)); then
          _rpc_playbooks_offer "$(_rpc_playbooks_names "$_rpc_playbooks_project"/playbooks/*.mjs)"
          return
        fi
        playbook=${COMP_WORDS[at]}.mjs
        break
        ;;
    esac
  done
  [[ $zx ]] || return
  if [[ ! $playbook ]]; then
    [[ $option == zx || $option == */zx ]] && _rpc_playbooks_offer "$(printf '%s\n' playbooks/*.mjs)"
    return
  fi
  if [[ ! $root ]]; then
    root=${playbook%playbooks/*}
    root=${root:-.}
  fi
  # --option=value comes as three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
    # The value in KEY=VALUE after --set cannot be completed.
    [[ $option == -* ]] || option=--value
  fi
  _rpc_playbooks_command "${playbook##*/}" "$option"
  case $kind in
    inventory) _rpc_playbooks_offer "$(_rpc_playbooks_names "$root"/inventory/*.yaml)" ;;
    role) _rpc_playbooks_offer "$(_rpc_playbooks_names "$root"/roles/*.ts "$_rpc_playbooks_project"/roles/*.ts | sort -u)" ;;
    host)
      for ((at += 1; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in -i | --inventory)
          inventory=${COMP_WORDS[at + 1]}
          [[ $inventory == = ]] && inventory=${COMP_WORDS[at + 2]}
          ;;
        esac
      done
      _rpc_playbooks_offer_list "$(node "$_rpc_playbooks_project/playbooks/completions.mjs" hosts "$root/inventory" "$inventory" 2>/dev/null)"
      ;;
    set)
      compopt -o nospace 2>/dev/null
      _rpc_playbooks_offer "$_rpc_playbooks_variables"
      ;;
    list\ *) _rpc_playbooks_offer "${kind#list }" ;;
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

# The project folder around the working directory, or the program's own one.
_rpc_playbooks_folder() {
  local folder=$PWD
  while [[ $folder && ! -e $folder/rpc-playbooks.yaml ]]; do folder=${folder%/*}; done
  printf '%s' "${folder:-$_rpc_playbooks_project}"
}

# Offers the names, one a line, that start with the current word.
_rpc_playbooks_offer() {
  local name
  while IFS= read -r name; do
    [[ $name && $name == "$current"* ]] && COMPREPLY+=("$name")
  done <<<"$1"
}

# The same for the last name of a list.
_rpc_playbooks_offer_list() {
  local name before=
  [[ $current =~ ^(.*,)?[!\&]? ]] && before=${BASH_REMATCH[0]}
  while IFS= read -r name; do
    [[ $name && $before$name == "$current"* ]] && COMPREPLY+=("$before$name")
  done <<<"$1"
}

# File names without folder and extension. Tests are left out.
_rpc_playbooks_names() {
  local path
  for path; do
    path=${path##*/}
    path=${path%.*}
    [[ $path == *.test || $path == '*' ]] || printf '%s\n' "$path"
  done
}

complete -o bashdefault -o default -F _rpc_playbooks npx zx rpc-playbooks
