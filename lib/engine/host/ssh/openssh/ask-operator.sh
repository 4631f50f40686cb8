#!/bin/sh
# ssh runs this for a question: SSH_ASKPASS of ssh(1). The question goes to standard error of ssh as a line that no server can make up, and the
# answer comes from standard input of ssh. A notice and a question without an answer in words are left out.
[ "$SSH_ASKPASS_PROMPT" ] && exit 1
printf '\n%s %s\n' "$RPC_PLAYBOOKS_QUESTION" "$(printf %s "$1" | base64 | tr -d '\n')" >&2
IFS= read -r answer && printf '%s\n' "$answer"
