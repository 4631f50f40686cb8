// The one list of commands. The overview of `rpc-playbooks`, docs/commands.md and the order in
// both are made from it.

/**
 * @typedef {object} Command
 * @property {string} name of its file in playbooks/, without `.mjs`
 * @property {string} sentence what it does: an imperative without a full stop
 * @property {string} example its words after the name, as an operator types them
 */

/**
 * @type {readonly { readonly title: string, readonly commands: readonly Command[] }[]} in the
 * order of the overview
 */
export const commandGroups = [
  {
    title: 'Deploy',
    commands: [
      {
        name: 'deploy',
        sentence: 'deploy, or show what would change',
        example: '--inventory mainnet --check',
      },
      {
        name: 'rollback',
        sentence: 'put back the files and images of an earlier release',
        example: '-i mainnet',
      },
      {
        name: 'validate',
        sentence: 'check an inventory and its files, without a connection',
        example: '-i mainnet',
      },
      {
        name: 'render',
        sentence: 'write the Compose file and configuration of every host, offline',
        example: '-i mainnet',
      },
    ],
  },
  {
    title: 'Change',
    commands: [
      { name: 'restart', sentence: 'restart one component', example: '--component json-rpc -i mainnet' },
      {
        name: 'drain',
        sentence: 'take an RPC server out of the gateways, or let it back in',
        example: '--host rpc-2 -i mainnet',
      },
      {
        name: 'remove',
        sentence: 'remove an RPC server or a replica; its data stay',
        example: '--host rpc-2 -i mainnet',
      },
      {
        name: 'switch',
        sentence: 'make a replica the Database+Sync server',
        example: '--to db-2 -i mainnet',
      },
      { name: 'run', sentence: 'run a shell command on every host', example: '-i mainnet --read -- uptime' },
    ],
  },
  {
    title: 'Watch',
    commands: [
      { name: 'status', sentence: 'show the health of every host', example: '-i mainnet --watch' },
      {
        name: 'logs',
        sentence: 'show the log of one component on all hosts',
        example: 'sync -i mainnet --follow',
      },
      { name: 'history', sentence: 'show who changed the hosts, and their releases', example: '-i mainnet' },
      { name: 'report', sentence: 'write the last run as one HTML page', example: '' },
      { name: 'schedule', sentence: 'run check mode regularly, on this machine', example: '-i mainnet' },
      { name: 'ping', sentence: 'log in to every host', example: '-i mainnet' },
      { name: 'facts', sentence: 'show what roles know of every host', example: '-i mainnet' },
    ],
  },
  {
    title: 'Data',
    commands: [
      {
        name: 'snapshot',
        sentence: 'take a snapshot of both databases',
        example: '--to /data/today -i mainnet',
      },
      {
        name: 'recover',
        sentence: 'rebuild the Database+Sync server from the backup',
        example: '--to-time latest -i mainnet',
      },
      {
        name: 'rewind',
        sentence: 'show or delete blocks that the trusted sequencer does not have',
        example: '-i mainnet --check',
      },
    ],
  },
  {
    title: 'Project',
    commands: [
      {
        name: 'init',
        sentence: 'make a folder for your own inventories, roles and playbooks',
        example: 'my-fleet',
      },
      { name: 'secrets', sentence: 'keep passwords in an encrypted file', example: '-i mainnet generate' },
      { name: 'completions', sentence: 'print Tab completion for bash or zsh', example: 'bash' },
    ],
  },
];
