#compdef npx zx rpc-playbooks
# Completes `npx zx playbooks/…`, `zx playbooks/…` and `rpc-playbooks …` in zsh. Printed by playbooks/completions.mjs, which fills in the
# braces.
_rpc_playbooks_project={{ project }}
_rpc_playbooks_variables=({{ variables }})
# Calls _arguments for a playbook.
_rpc_playbooks_command() {
  case $1 in
{{ cases }}
  esac
}

_rpc_playbooks() {
  local at playbook root expl
  for (( at = 1; at < CURRENT; at++ )); do
    [[ $words[at] == ((playbooks|*/playbooks)/*.mjs|rpc-playbooks|*/rpc-playbooks) ]] && break
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
  root=${playbook:h:h}
  if [[ $playbook != *.mjs ]]; then
    if (( ++at == CURRENT )); then
      _wanted commands expl command compadd -- $_rpc_playbooks_project/playbooks/*.mjs(N:t:r)
      return
    fi
    playbook=$words[at].mjs
    root=$PWD
    while [[ $root != / && ! -e $root/rpc-playbooks.yaml ]]; do root=${root:h}; done
    [[ $root == / ]] && root=$_rpc_playbooks_project
  fi
  words=("${(@)words[at,-1]}")
  (( CURRENT -= at - 1 ))
  _rpc_playbooks_command ${playbook:t}
}

_rpc_playbooks_inventory() {
  local -a names=($root/inventory/*.yaml(N:t:r))
  _wanted inventories expl inventory compadd -a names || _files -g '*.y(a|)ml(-.)'
}

_rpc_playbooks_role() {
  local -aU names=({$root,$_rpc_playbooks_project}/roles/*.ts(N:t:r))
  names=(${names:#*.test})
  _wanted roles expl role compadd -a names
}

_rpc_playbooks_host() {
  local at inventory=''
  local -a names
  for (( at = 2; at < CURRENT; at++ )); do
    case $words[at] in
      (-i | --inventory) inventory=$words[at+1] ;;
      (--inventory=*) inventory=${words[at]#*=} ;;
      (-i?*) inventory=${words[at]#-i} ;;
    esac
  done
  names=(${(f)"$(node $_rpc_playbooks_project/playbooks/completions.mjs hosts $root/inventory "$inventory" 2>/dev/null)"})
  compset -P '*,'
  compset -P '(\\|)[&!]'
  _wanted hosts expl 'host or group' compadd -a names
}

_rpc_playbooks_set() {
  if compset -P '*='; then
    _message value
  else
    _wanted variables expl variable compadd -qS = -a _rpc_playbooks_variables
  fi
}

if [[ $funcstack[1] == _rpc_playbooks ]]; then
  _rpc_playbooks "$@"
else
  compdef _rpc_playbooks npx zx rpc-playbooks
fi
