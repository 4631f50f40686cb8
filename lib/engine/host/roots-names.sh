# shellcheck shell=sh disable=SC2154
# Goes on only where nobody but root can change a name on the way to a folder and in it. It follows folder-names.sh. Argument: a folder.
look "$1"
[ -z "$whose" ] || refuse "$1 is not used" 'root would follow them. Choose a path in a folder that only root can change'
