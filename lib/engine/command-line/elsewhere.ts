// What people type who come from Ansible, Terraform or Kamal, and what it is called here.

/** Options of other tools with the option here that does the same. */
export const optionsElsewhere: Readonly<Record<string, string>> = {
  '--host': 'limit',
  '--hosts': 'limit',
  '--tags': 'role',
  '-t': 'role',
  '--skip-tags': 'skip-role',
  '--start-at-task': 'start-at',
  '--extra-vars': 'set',
  '-e': 'set',
  '--dry-run': 'check',
  '-n': 'check',
  '-C': 'check',
  '-D': 'diff',
  '-K': 'ask-become-pass',
  '--auto-approve': 'yes',
  '--interval': 'every',
};

const password = 'hosts are reached by key, never by password: ssh-copy-id puts your key on a host';
const user = 'the user is in the inventory: user under ssh, or of one host; otherwise ssh_config has it';
const become = 'a user who is not root gets sudo by itself; --ask-become-pass asks for its password';
const key = 'the key is in the inventory: identity_file under ssh, or of one host; otherwise ssh_config has it';
const ssh = 'settings of SSH are in the inventory (ssh) and in your ssh_config, which is read';
const vault = 'secrets are in a file beside the inventory: --identity FILE opens it, see docs/secrets.md';
const modules = 'each command is a playbook: ping.mjs, facts.mjs, run.mjs -- COMMAND';

/** Options of other tools that have no counterpart, with what there is instead. */
export const sentences: Readonly<Record<string, string>> = {
  '-k': password,
  '--ask-pass': password,
  '-u': user,
  '--user': user,
  '-b': become,
  '--become': become,
  '--private-key': key,
  '--ssh-common-args': ssh,
  '--ssh-extra-args': ssh,
  '--vault-password-file': vault,
  '--ask-vault-pass': vault,
  '--syntax-check': 'npx zx playbooks/validate.mjs checks an inventory without a connection',
  '-m': modules,
  '-a': modules,
};

/** Words of other tools that are options here. */
export const wordsElsewhere: Readonly<Record<string, string>> = {
  plan: 'the plan is check mode: npx zx playbooks/deploy.mjs --inventory NAME --check',
  apply: 'a deploy applies its plan: npx zx playbooks/deploy.mjs --inventory NAME',
  ping: 'npx zx playbooks/ping.mjs --inventory NAME',
};
