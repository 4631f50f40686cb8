import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runOptions } from '../../lib/commands/playbook/options.ts';
import { statusOptions } from '../../lib/commands/status/command.ts';
import { install, Terminal } from './tmux.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'completions-'));
const scripts = { bash: join(directory, 'rpc.bash'), zsh: join(directory, '_rpc_playbooks') };
const own = join(directory, 'own.yaml');

beforeAll(async () => {
  await install('tmux', 'zsh');
  for (const [shell, path] of Object.entries(scripts)) writeFileSync(path, printed(shell));
  writeFileSync(
    own,
    'groups: { database: { alpha: { address: 10.0.0.1 } }, rpc: { vars: {}, beta-1: {}, beta-2: {} } }\n',
  );
});
afterAll(() => rmSync(directory, { recursive: true }));

function printed(...words: readonly string[]): string {
  return execFileSync(
    process.execPath,
    ['node_modules/zx/build/cli.js', 'playbooks/completions.mjs', ...words],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
}

/** The names in a directory, without their endings. */
const namesIn = (folder: string, ending: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending) && !name.endsWith('.test.ts'))
    .map((name) => name.slice(0, -ending.length));

test.each(['bash', 'zsh'] as const)('the script for %s knows each command', (shell) => {
  const script = readFileSync(scripts[shell], 'utf8');
  for (const name of namesIn('playbooks', '.mjs'))
    expect(script).toMatch(new RegExp(`^ +\\(?${name}\\.mjs\\)`, 'm'));
});

test.each([
  [[], 'the name of the shell is missing'],
  [['fish'], 'unexpected word "fish"'],
  [['bsh'], 'did you mean bash?'],
])('%j is refused', (words, why) => {
  expect(() => printed(...words)).toThrow(why);
});

describe('bash', () => {
  /** The completions of the last word, requested like readline does. */
  function offered(...words: readonly string[]): string[] {
    const script = `source ${scripts.bash}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rpc_playbooks; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const said = execFileSync('bash', ['--norc', '-c', script, 'bash', ...words], {
      cwd: root,
      encoding: 'utf8',
    });
    return said.split('\n').filter((line) => line !== '');
  }
  const deploy = ['npx', 'zx', 'playbooks/deploy.mjs'] as const;

  test.each<[string, string[], readonly string[]]>([
    ['playbooks', ['npx', 'zx', ''], namesIn('playbooks', '.mjs').map((name) => `playbooks/${name}.mjs`)],
    ['one playbook', ['zx', 'playbooks/de'], ['playbooks/deploy.mjs']],
    ['nothing of ours for npx alone', ['npx', ''], []],
    ['all options of a run', [...deploy, '--'], Object.keys(runOptions).map((name) => `--${name}`)],
    [
      'all options of status',
      ['zx', 'playbooks/status.mjs', ''],
      Object.keys(statusOptions).map((name) => `--${name}`),
    ],
    ['options that begin so', [...deploy, '--check', '--li'], ['--limit', '--list-hosts', '--list-tasks']],
    ['inventories', [...deploy, '--inventory', ''], namesIn('inventory', '.yaml')],
    ['inventories by the short option', [...deploy, '-i', 'ma'], ['mainnet']],
    ['inventories behind =', [...deploy, '--inventory', '=', 'te'], ['testnet']],
    ['inventories right behind =', [...deploy, '--inventory', '='], namesIn('inventory', '.yaml')],
    ['roles', [...deploy, '--check', '--skip-role', ''], namesIn('roles', '.ts')],
    [
      'hosts and groups of the lab',
      [...deploy, '-i', 'lab', '--limit', ''],
      ['db-1', 'rpc-1', 'rpc-2', 'database', 'rpc', 'all'],
    ],
    ['no hosts without an inventory', [...deploy, '--limit', ''], []],
    ['those of the inventory named', [...deploy, '-i', own, '-l', 'b'], ['beta-1', 'beta-2']],
    ['those of the inventory behind =', [...deploy, '--inventory', '=', own, '-l', 'a'], ['alpha', 'all']],
    [
      'the last of a list',
      [...deploy, '-i', own, '--limit', 'alpha,beta-'],
      ['alpha,beta-1', 'alpha,beta-2'],
    ],
    [
      'hosts that are assumed to be stopped',
      [...deploy, '-i', own, '--assume-stopped', 'be'],
      ['beta-1', 'beta-2'],
    ],
    ['what is left out', [...deploy, '-i', own, '--limit', 'all,!al'], ['all,!alpha', 'all,!all']],
    ['no hosts of what cannot be read', [...deploy, '-i', 'nowhere', '--limit', ''], []],
    ['variables', [...deploy, '--set', 'ports.rpc_h'], ['ports.rpc_http=']],
    ['no values of variables', [...deploy, '--set', 'ports.rpc_http', '=', ''], []],
    ['no titles', [...deploy, '--start-at', ''], []],
    ['what secrets does', ['zx', 'playbooks/secrets.mjs', '-i', 'lab', 'ro'], ['rotate']],
    ['its options', ['zx', 'playbooks/secrets.mjs', '--re'], ['--reveal']],
    ['own options of a playbook', ['zx', 'playbooks/recover.mjs', '--to'], ['--to-time', '--to-server']],
    ['those of a rollback', ['zx', 'playbooks/rollback.mjs', '--to'], ['--to']],
    ['values of an own option', ['zx', 'playbooks/restart.mjs', '--component', 's'], ['state-db', 'sync']],
    [
      'values of an own option behind =',
      ['zx', 'playbooks/restart.mjs', '--component', '=', 'j'],
      ['json-rpc'],
    ],
    [
      'hosts of an own option',
      ['zx', 'playbooks/drain.mjs', '-i', own, '--host', 'be'],
      ['beta-1', 'beta-2'],
    ],
    [
      'commands of the installed program',
      ['rpc-playbooks', 're'],
      ['recover', 'remove', 'render', 'report', 'restart', 'rewind'],
    ],
    ['their options', ['npx', 'rpc-playbooks', 'snapshot', '--to'], ['--to']],
    ['inventories for them', ['rpc-playbooks', 'deploy', '-i', 'ma'], ['mainnet']],
    ['roles for them', ['npx', 'rpc-playbooks', 'deploy', '--role', 'docker-'], ['docker-root']],
    ['in another folder', ['zx', `${root}playbooks/deploy.mjs`, '-i', 'mainn'], ['mainnet']],
  ])('offers %s', (_, words, expected) => {
    expect(offered(...words).sort()).toEqual([...expected].sort());
  });
});

describe.each(['bash', 'zsh', 'zsh with it in fpath'] as const)('%s on a terminal', (shell) => {
  let terminal: Terminal;
  beforeAll(async () => {
    const zsh = ['zsh', '-f'];
    const start = { bash: ['bash', '--norc', '--noprofile'], zsh, 'zsh with it in fpath': zsh }[shell];
    terminal = new Terminal(100, 40, ...start);
    const compinit = "autoload -Uz compinit; compinit -D -u; PROMPT='shell> '";
    const ready = {
      bash: `source ${scripts.bash}; bind 'set show-all-if-ambiguous on' 'set bell-style none'`,
      zsh: `${compinit}; source ${scripts.zsh}`,
      'zsh with it in fpath': `fpath+=(${directory}); ${compinit}`,
    }[shell];
    terminal.press(`${ready}; clear`, 'Enter');
    await terminal.until((screen) => screen.join('') === 'shell>');
  });
  afterAll(() => terminal?.close());

  /** Presses Tab after a line, and waits for the completed line and the list below it. */
  async function completed(line: string, becomes: string, ...listed: readonly string[]): Promise<void> {
    terminal.press('C-u', 'C-l');
    await terminal.until((screen) => screen.join('') === 'shell>');
    terminal.press('-l', line);
    await terminal.until((screen) => screen.some((row) => row.endsWith(line.trimEnd())));
    terminal.press('Tab');
    const holds = (screen: string[]) =>
      screen.some((row) => row.startsWith(`shell> ${becomes}`)) &&
      listed.every((word) => screen.slice(1).some((row) => row.split(/[\s,]+/).includes(word)));
    await terminal.until(holds, 5);
    await delay(50);
  }

  test('completes playbooks, options, inventories, roles, hosts and variables', async () => {
    await completed('npx zx playbooks/depl', 'npx zx playbooks/deploy.mjs');
    await completed('zx playbooks/deploy.mjs --inven', 'zx playbooks/deploy.mjs --inventory');
    await completed(
      'npx zx playbooks/deploy.mjs --inventory mainn',
      'npx zx playbooks/deploy.mjs --inventory mainnet',
    );
    await completed(
      'npx zx playbooks/deploy.mjs --inventory=testn',
      'npx zx playbooks/deploy.mjs --inventory=testnet',
    );
    await completed(
      'npx zx playbooks/deploy.mjs --role time-',
      'npx zx playbooks/deploy.mjs --role time-sync',
    );
    await completed(
      'npx zx playbooks/deploy.mjs -i lab --limit db',
      'npx zx playbooks/deploy.mjs -i lab --limit db-1',
    );
    await completed(
      'npx zx playbooks/deploy.mjs -i lab --limit=dat',
      'npx zx playbooks/deploy.mjs -i lab --limit=database',
    );
    await completed(
      'npx zx playbooks/deploy.mjs -i lab -l db-1,rpc-',
      'npx zx playbooks/deploy.mjs -i lab -l db-1,rpc-',
      'rpc-1',
      'rpc-2',
    );
    await completed(
      `npx zx playbooks/deploy.mjs -i ${own} -l al`,
      `npx zx playbooks/deploy.mjs -i ${own} -l al`,
      'alpha',
    );
    await completed(
      'npx zx playbooks/deploy.mjs --set ports.rpc_h',
      'npx zx playbooks/deploy.mjs --set ports.rpc_http=',
    );
    await completed('npx zx playbooks/secrets.mjs gen', 'npx zx playbooks/secrets.mjs generate');
    await completed(
      'npx zx playbooks/deploy.mjs --li',
      'npx zx playbooks/deploy.mjs --li',
      '--limit',
      '--list-hosts',
    );
    await completed('npx zx playbooks/recover.mjs --to-t', 'npx zx playbooks/recover.mjs --to-time');
    await completed(
      'zx playbooks/restart.mjs --component js',
      'zx playbooks/restart.mjs --component json-rpc',
    );
    await completed('npx rpc-playbooks snap', 'npx rpc-playbooks snapshot');
    await completed('rpc-playbooks deploy -i mainn', 'rpc-playbooks deploy -i mainnet');
    await completed('npx rpc-playbooks deploy --role time-', 'npx rpc-playbooks deploy --role time-sync');
    await completed('npx zx playbooks/render.mjs --out READ', 'npx zx playbooks/render.mjs --out README.md');
  });
});
