import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { floorScript } from './floor.ts';
import type { Command } from './measure.ts';
import { cache, peerProgram } from './prepare.ts';
import { workload } from './workload.ts';

export const cases = ['noop', 'check', 'first', 'change'] as const;
export type Case = (typeof cases)[number];

/** Hosts as a tool reads them. */
interface Targets {
  readonly hosts: readonly { readonly name: string; readonly address: string }[];
  readonly identityFile: string;
  readonly knownHostsFile: string;
  /** Directory for a tool's own files. */
  readonly directory: string;
}

export interface Tool {
  readonly title: string;
  /** The installed tool that contains it. */
  readonly peer?: 'ansible' | 'pyinfra';
  readonly cases: readonly Case[];
  /** Writes its inventory, and returns its command. */
  command(targets: Targets, what: Case): Command;
}

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const zx = join(root, 'node_modules/zx/build/cli.js');

/**
 * @param client of the inventory's `ssh`
 */
function ours(title: string, known: readonly Case[], client?: 'openssh'): Tool {
  return {
    title,
    cases: known,
    command({ hosts, identityFile, knownHostsFile, directory }, what) {
      const inventory = join(directory, `ours${client ? `-${client}` : ''}.yaml`);
      const lines = hosts.map(({ name, address }) => `    ${name}: { address: ${address} }\n`).join('');
      const login = [
        `user: root, identity_file: ${identityFile}, known_hosts: ${knownHostsFile}`,
        ...(client ? [`client: ${client}`] : []),
      ].join(', ');
      writeFileSync(inventory, `ssh: { ${login} }\ngroups:\n  servers:\n${lines}`);
      const mode = what === 'check' ? ['--check', '--diff'] : ['--yes'];
      return {
        argv: [
          process.execPath,
          zx,
          join(here, 'tools/ours.mjs'),
          '--inventory',
          inventory,
          '--forks',
          String(hosts.length),
          ...mode,
        ],
        cwd: root,
        ends: what === 'check' ? [2] : [0],
      };
    },
  };
}

function ansible(title: string, strategy: () => Readonly<Record<string, string>>): Tool {
  return {
    title,
    peer: 'ansible',
    cases,
    command({ hosts, identityFile, knownHostsFile, directory }, what) {
      const inventory = join(directory, 'ansible.ini');
      const lines = hosts.map(({ name, address }) => `${name} ansible_host=${address}\n`).join('');
      writeFileSync(inventory, lines);
      const variables = join(directory, 'ansible.json');
      // Ansible reserves some names; they are renamed here.
      const { groups, ...rest } = workload;
      writeFileSync(variables, JSON.stringify({ ...rest, groupsWanted: groups }));
      // An empty one, so that the machine's own is not used.
      const settings = join(directory, 'ansible.cfg');
      writeFileSync(settings, '');
      const sockets = join(directory, 'sockets');
      mkdirSync(sockets, { recursive: true });
      return {
        argv: [
          peerProgram('ansible', 'ansible-playbook'),
          '--inventory',
          inventory,
          '--extra-vars',
          `@${variables}`,
          '--forks',
          String(hosts.length),
          ...(what === 'check' ? ['--check', '--diff'] : []),
          join(here, 'tools/ansible/site.yml'),
        ],
        env: {
          ANSIBLE_CONFIG: settings,
          ANSIBLE_PIPELINING: 'true',
          ANSIBLE_REMOTE_USER: 'root',
          ANSIBLE_PRIVATE_KEY_FILE: identityFile,
          ANSIBLE_HOST_KEY_CHECKING: 'true',
          ANSIBLE_SSH_ARGS: `-F none -o ControlMaster=auto -o ControlPersist=60s -o UserKnownHostsFile=${knownHostsFile}`,
          ANSIBLE_SSH_CONTROL_PATH_DIR: sockets,
          ANSIBLE_PYTHON_INTERPRETER: '/usr/bin/python3',
          ANSIBLE_LOCAL_TEMP: join(directory, 'ansible-tmp'),
          ...strategy(),
        },
        cwd: directory,
        ends: [0],
      };
    },
  };
}

const mitogen = ansible('Mitogen for Ansible', () => {
  const libraries = join(cache, 'ansible/lib');
  const [python = ''] = readdirSync(libraries);
  return {
    ANSIBLE_STRATEGY: 'mitogen_linear',
    ANSIBLE_STRATEGY_PLUGINS: join(libraries, python, 'site-packages/ansible_mitogen/plugins/strategy'),
  };
});

const pyinfra: Tool = {
  title: 'pyinfra',
  peer: 'pyinfra',
  cases,
  command({ hosts, identityFile, knownHostsFile, directory }, what) {
    const inventory = join(directory, 'pyinfra_inventory.py');
    const ssh = {
      ssh_user: 'root',
      ssh_key: identityFile,
      ssh_known_hosts_file: knownHostsFile,
      ssh_strict_host_key_checking: 'yes',
    };
    writeFileSync(
      inventory,
      `hosts = ${JSON.stringify(hosts.map(({ name, address }) => [name, { ssh_hostname: address, ...ssh }]))}\nhosts = [tuple(host) for host in hosts]\n`,
    );
    const variables = join(directory, 'pyinfra.json');
    writeFileSync(variables, JSON.stringify(workload));
    return {
      argv: [
        peerProgram('pyinfra', 'pyinfra'),
        ...(what === 'check' ? ['--dry', '--diff'] : ['--yes']),
        '--parallel',
        String(hosts.length),
        inventory,
        join(here, 'tools/pyinfra/deploy.py'),
      ],
      env: { BENCH_WORKLOAD: variables },
      cwd: directory,
      ends: [0],
    };
  },
};

const floor: Tool = {
  title: 'floor: one script by hand, through ssh',
  cases,
  command({ hosts, identityFile, knownHostsFile, directory }, what) {
    const script = join(directory, 'floor.sh');
    writeFileSync(script, floorScript(workload, what === 'check' ? 'check' : 'apply'));
    const ssh = `ssh -F none -o BatchMode=yes -o UserKnownHostsFile='${knownHostsFile}' -i '${identityFile}'`;
    const starts = hosts.map(({ address }) => `${ssh} root@${address} sh -s <'${script}'& all="$all $!"`);
    const launcher = join(directory, 'floor-on-all.sh');
    writeFileSync(launcher, `all=\n${starts.join('\n')}\nfor one in $all;do wait $one||exit 1;done\n`);
    return { argv: ['sh', launcher], cwd: directory, ends: [0] };
  },
};

const oneExec: Tool = {
  title: 'one exec for each check, node-ssh with noDelay',
  cases: ['noop'],
  command({ hosts, identityFile, knownHostsFile, directory }) {
    const inputFile = join(directory, 'one-exec.json');
    writeFileSync(inputFile, JSON.stringify({ hosts, identityFile, knownHostsFile, work: workload }));
    return { argv: [process.execPath, join(here, 'tools/one-exec.mjs'), inputFile], cwd: root, ends: [0] };
  },
};

const nodeItself: Tool = {
  title: 'Node, starting and ending',
  cases: ['noop'],
  command: () => ({ argv: [process.execPath, '-e', '0'], cwd: root, ends: [0] }),
};

/** It runs our playbooks, and is part of every start. */
const zxItself: Tool = {
  title: 'zx, starting and ending',
  cases: ['noop'],
  command: () => ({ argv: [process.execPath, zx, '--version'], cwd: root, ends: [0] }),
};

/** In the order of the table. */
export const tools = {
  ours: ours('rpc-playbooks', cases),
  openssh: ours('rpc-playbooks, by OpenSSH', ['noop'], 'openssh'),
  ansible: ansible('Ansible', () => ({})),
  mitogen,
  pyinfra,
  floor,
  'one-exec': oneExec,
  node: nodeItself,
  zx: zxItself,
} as const satisfies Readonly<Record<string, Tool>>;

export type ToolName = keyof typeof tools;
