import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import removed from '../../../roles/removed.ts';
import { ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf, type Given } from '../testing/role-context.ts';

async function resources(given: Given = {}) {
  const context = await contextOf({ group: 'rpc', ...given });
  return removed.resources(context);
}

test('what is there is named, and what to do in the inventory', async () => {
  const [made] = await resources();
  const host = fakeHost([
    [/^sh -s -- list/, 'container json-rpc\nfile /etc/rpc-node\nrules RPC-PLAYBOOKS\n'],
  ]);
  expect(await made?.check(host)).toMatchObject({
    differences: [
      { what: 'container json-rpc', was: 'there', wanted: 'removed' },
      { what: 'file /etc/rpc-node' },
      { what: 'rules RPC-PLAYBOOKS' },
    ],
    note: "data stay in /data and in Docker's own folder; delete rpc-1 in the inventory, then deploy",
    change: [
      {
        command: expect.stringMatching(/^sh -s -- remove rpc-node rpc-playbooks.config-hash RPC-PLAYBOOKS /),
      },
    ],
  });
  const nothing = fakeHost([[/^sh -s -- list/, '']]);
  expect(await made?.check(nothing)).toEqual(ok);
});

test('a server that the deployment needs is refused', async () => {
  await expect(resources({ group: 'database' })).rejects.toThrow(
    'db-1 is in group database, too: only an RPC server or a replica can be removed',
  );
  await expect(
    resources({ hosts: (all) => all.filter(({ name }) => name !== 'rpc-2') }),
  ).rejects.toMatchObject({
    message: 'rpc-1 is the only RPC server',
    hint: 'add another one first',
  });
});

/** templates/host/remove.sh with a root folder and programs of the test. */
function scriptIn(root: string) {
  const bin = join(root, 'bin');
  mkdirSync(bin, { recursive: true });
  const program = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  const log = join(root, 'log');
  program(
    'docker',
    `case $1 in
  ps) if [ ! -e ${root}/gone ]; then echo json-rpc; echo prover; fi ;;
  inspect) echo rpc-node_default ;;
  rm) : > ${root}/gone; echo "docker $*" >> ${log} ;;
  *) echo "docker $*" >> ${log} ;;
esac`,
  );
  program('systemctl', `echo "systemctl $*" >> ${log}`);
  for (const tool of ['iptables', 'ip6tables'])
    program(
      tool,
      `shift
case $1 in
  -S) printf '%s\\n' '-N DOCKER-USER' '-N RPC-PLAYBOOKS' '-N RPC-PLAYBOOKS-INPUT' '-A DOCKER-USER -j RPC-PLAYBOOKS' '-A DOCKER-USER -j RETURN' ;;
  *) echo "${tool} $*" >> ${log} ;;
esac`,
    );
  const text = readFileSync(new URL('../../../templates/host/remove.sh', import.meta.url), 'utf8')
    .replace(/^PATH=.*$/m, `PATH=${bin}:/usr/bin:/bin`)
    .replaceAll(/(?<=["= ])\/(etc|run|usr\/local|var\/lib)\//g, `${root}/$1/`);
  return {
    run: (verb: string, ...files: string[]) =>
      execFileSync(
        'sh',
        ['-s', '--', verb, 'rpc-node', 'the-label', 'RPC-PLAYBOOKS', join(root, 'opt'), ...files],
        {
          input: text,
          encoding: 'utf8',
        },
      ).split('\n'),
    log: () => readFileSync(log, 'utf8').trim().split('\n'),
  };
}

test('the script removes what is ours, and nothing else', () => {
  const root = mkdtempSync(join(tmpdir(), 'remove-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const put = (path: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), 'x');
  };
  const ours = [
    'etc/systemd/system/rpc-node-disk-alert.timer',
    'etc/systemd/system/docker.service.d/rpc-node-firewall.conf',
    'etc/systemd/system/prometheus-node-exporter.service.d/rpc-node.conf',
    'usr/local/lib/rpc-node/firewall',
    'etc/rpc-node/firewall.v4',
    'var/lib/rpc-node/releases/1/manifest',
    'opt/docker-compose.yml',
    'opt/downloads/genesis.json',
    'etc/systemd/system/nftables.service.d/rpc-node-firewall.conf',
    'etc/systemd/system/prometheus-node-exporter.service.d/rpc-node-firewall.conf',
    'etc/systemd/system/rpc-node-firewall.service',
    'run/rpc-node/firewall/state',
  ];
  const others = [
    'etc/systemd/system/mine.service',
    'etc/mine/file',
    'opt/notes.txt',
    'var/lib/rpc-node/docker-root/old-copy',
  ];
  for (const path of [...ours, ...others]) put(path);
  const script = scriptIn(root);
  const files = [join(root, 'opt/docker-compose.yml'), join(root, 'opt/downloads/genesis.json')];
  const listed = script.run('list', ...files).filter((line) => line !== '');
  expect(listed).toEqual([
    'container json-rpc',
    'container prover',
    ...[
      ours[0],
      ours[10],
      ours[1],
      ours[8],
      ours[9],
      ours[2],
      'usr/local/lib/rpc-node',
      'etc/rpc-node',
      'var/lib/rpc-node/releases',
      'run/rpc-node/firewall',
      ours[6],
      ours[7],
    ].map((path) => `file ${root}/${path}`),
    'rules RPC-PLAYBOOKS',
    'rules RPC-PLAYBOOKS-INPUT',
  ]);
  script.run('remove', ...files);
  expect(ours.filter((path) => existsSync(join(root, path)))).toEqual([]);
  expect(others.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(script.log()).toEqual([
    'docker stop --time 120 json-rpc prover',
    'docker rm json-rpc prover',
    'docker network rm rpc-node_default',
    'systemctl --quiet disable --now rpc-node-disk-alert.timer',
    'systemctl --quiet disable --now rpc-node-firewall.service',
    // Not nftables, which is not ours.
    'systemctl --quiet disable --now prometheus-node-exporter.service',
    'systemctl daemon-reload',
    ...['iptables', 'ip6tables'].flatMap((tool) => [
      `${tool} -F RPC-PLAYBOOKS`,
      `${tool} -F RPC-PLAYBOOKS-INPUT`,
      `${tool} -D DOCKER-USER -j RPC-PLAYBOOKS`,
      `${tool} -X RPC-PLAYBOOKS`,
      `${tool} -X RPC-PLAYBOOKS-INPUT`,
    ]),
  ]);
  expect(script.run('list', ...files).filter((line) => /^(container|file)/.test(line))).toEqual([]);
});

test('a replica that RPC servers read is refused', async () => {
  process.env.REPLICA_PASSWORD = 'replica.Pw~5';
  const removal = (use?: string) =>
    resources({
      group: 'replica',
      changes: [
        [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
        [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD', use }],
      ],
    });
  await expect(removal()).rejects.toMatchObject({
    message: 'replica-1 is read by rpc-1, rpc-2',
    hint: expect.stringContaining('by replica.use in the inventory'),
  });
  expect(await removal('none')).toHaveLength(1);
});
