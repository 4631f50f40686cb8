import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import type { Resource } from '../../lib/engine/resource/resource.ts';
import { fakeHost } from '../../lib/engine/resource/testing/fake-host.ts';
import { newAuthority, newKey, newServerCertificate } from '../../lib/node/encryption/openssl.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { connectionToOffer, offerOf } from '../../lib/node/recovery/serving.ts';
import { sound } from '../../lib/node/testing/role-context.ts';
import { writeLabDeployment } from '../../lib/node/testing/written-lab-deployment.ts';
import recovery from '../../roles/recovery.ts';
import { installMissing } from '../install-missing.ts';

// What the backup host offers, fetched with encryption: the real stunnel, openssl and rsync on this
// machine, with the settings of a deployment.

const script = (name: string) =>
  readFileSync(new URL(`../../templates/host/${name}.sh`, import.meta.url), 'utf8');

let folder: string;
/** What the unit on the backup host runs. */
let unit: ChildProcess;
/** The program of the inventory that encrypts, and the address. */
let connection: string;
let source: string;

const contentOf = async (resources: readonly Resource[], name: string): Promise<string> => {
  const verdict = await resources.find((each) => each.name === `file ${name}`)?.check(fakeHost([]));
  const differences = verdict?.is === 'drift' ? verdict.differences : [];
  return differences.find(({ what }) => what === 'content')?.wanted ?? '';
};

beforeAll(async () => {
  installMissing([
    ['/usr/bin/rsync', 'rsync'],
    ['/usr/bin/stunnel', 'stunnel4'],
  ]);
  folder = mkdtempSync('/var/tmp/recovery-tls-');
  process.env.BACKUP_PASSWORD = 'backup.Pw~4';
  mkdirSync(join(folder, 'inventory'));
  const key = newKey();
  const certificate = await newAuthority('lab', key);
  const put = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const tls = { ca: put('ca.pem', certificate), key: `file:${put('ca.key', key.reveal())}` };
  put('other.pem', await newAuthority('other', newKey()));
  const file = await writeLabDeployment(join(folder, 'inventory'), [
    [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
    [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
    [['vars', 'tls'], tls],
  ]);
  const { hosts } = await loadDeployment(file);
  const host = hosts.find(({ groups }) => groups.includes('backup'));
  if (!host) throw new Error('there is no backup host');
  const context = { host, hosts, vars: host.vars, facts: sound, includes: () => true, given: {} };
  connection = connectionToOffer(context)
    .replace('/etc/rpc-node/tls/', `${folder}/`)
    .replace(' -connect 10.0.0.7', ' -connect 127.0.0.1');
  source = offerOf(hosts).replace('10.0.0.7', '127.0.0.1');
  const resources = await recovery.resources({ ...context, given: { 'to-time': 'latest' } });
  const server = await newServerCertificate({ certificate, key }, ['10.0.0.7', 'backup-1']);
  put('recovery-server.pem', server.reveal());
  put('recovery-password', 'recovery:backup.Pw~4\n');
  put('password', 'backup.Pw~4\n');
  mkdirSync(join(folder, 'offer'));
  writeFileSync(join(folder, 'offer/room'), 'x'.repeat(1234));
  writeFileSync(join(folder, 'offer/blocks'), 'walrus '.repeat(2_000_000));
  const here = (text: string) =>
    text
      .replaceAll('/run/rpc-playbooks/', `${folder}/`)
      .replaceAll('/data/backup/recovery', `${folder}/offer`)
      .replaceAll('= barman', '= root');
  const rsyncd = put(
    'recovery-rsyncd.conf',
    here(await contentOf(resources, '/run/rpc-playbooks/recovery-rsyncd.conf')),
  );
  put('recovery-stunnel.conf', here(await contentOf(resources, '/run/rpc-playbooks/recovery-stunnel.conf')));
  expect(readFileSync(rsyncd, 'utf8')).toContain('hosts allow = 127.0.0.1\n');
  unit = spawn('sh', ['-c', here(await changeOf(resources, 'the files of the recovery can be fetched'))], {
    env: { ...process.env, PATH: `${withoutSystemd()}:${process.env.PATH}` },
    stdio: 'ignore',
    detached: true,
  });
  for (const port of [8730, 8731]) await listens(port);
});

afterAll(() => {
  // As systemd does with a unit.
  if (isThere(-(unit.pid ?? 0))) process.kill(-(unit.pid ?? 0));
  rmSync(folder, { recursive: true, force: true });
});

/** Whether a process is there; of a negative one, any of its group. */
function isThere(process_: number): boolean {
  try {
    return process.kill(process_, 0);
  } catch {
    return false;
  }
}

/** The command of a change. */
async function changeOf(resources: readonly Resource[], name: string): Promise<string> {
  const verdict = await resources.find((each) => each.name === name)?.check(fakeHost([]));
  const change = verdict?.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
  const [step] = change;
  if (step?.do !== 'run') throw new Error(`${name} has no command`);
  return step.command;
}

/** A folder with programs that start the command of a unit here, in place of systemd. */
function withoutSystemd(): string {
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  const program = (name: string, text: string) =>
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program('systemctl', ':');
  program('systemd-run', 'while case $1 in --*) ;; *) false ;; esac; do shift; done; exec "$@"');
  return programs;
}

async function listens(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    const answer = await new Promise((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
    );
    socket.destroy();
    if (answer === true) return;
    await delay(100);
  }
  throw new Error(`nothing listens at ${port}`);
}

/** Fetches the offer as the Database+Sync server does. */
function fetched(by: string) {
  const target = join(folder, 'fetched');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  const settings = shellSettings({ SOURCE: source, PASSWORD_FILE: join(folder, 'password'), CONNECT: by });
  const text = `${settings}${script('unpack-recovery')}\ntake --timeout=5 "$SOURCE/" ${target}/`;
  const { status, stderr } = spawnSync('sh', ['-c', text], { encoding: 'utf8', timeout: 60_000 });
  return { code: status, said: stderr, blocks: join(target, 'blocks') };
}

/** Asks for the room as the Database+Sync server does. */
const room = (by: string) =>
  spawnSync(
    'sh',
    [
      '-c',
      script('data-place') + script('recovery-room'),
      'room',
      source,
      join(folder, 'password'),
      folder,
      by,
    ],
    { encoding: 'utf8' },
  );

test('it is fetched whole, and the room is known', () => {
  expect(connection).toContain('-verify_ip 10.0.0.7');
  const { code, said, blocks } = fetched(connection);
  expect([code, said]).toEqual([0, '']);
  execFileSync('cmp', [blocks, join(folder, 'offer/blocks')]);
  expect(room(connection).stdout).toMatch(/^1234 \d+\n$/);
});

test('a server of another authority, or with another name, gets no password', () => {
  const other = connection.replace('ca.pem', 'other.pem');
  expect(fetched(other)).toMatchObject({
    code: expect.not.stringMatching('^0$'),
    said: expect.stringMatching(/^verify error:num=20:unable to get local issuer certificate$/m),
  });
  const named = connection.replace('-verify_ip 10.0.0.7', '-verify_ip 10.0.0.8');
  expect(fetched(named).said).toMatch(/^verify error:num=64:IP address mismatch$/m);
  expect(room(named).stdout).not.toMatch(/^1234/);
});

test('in plain text there is nothing', () => {
  const { code, said, blocks } = fetched('');
  expect(code).not.toBe(0);
  expect(said).toContain('rsync error');
  expect(() => readFileSync(blocks)).toThrow();
});

test('where nothing is served yet, the run waits for it', () => {
  expect(room(connection.replace(':8730', ':8739')).stderr).toContain('Connection refused');
});

test('without rsync the unit ends, and the next run starts both again', async () => {
  const rsync = execFileSync('pgrep', ['-g', String(unit.pid), '-x', 'rsync'], { encoding: 'utf8' });
  const ended = new Promise((resolve) => unit.once('exit', resolve));
  process.kill(Number(rsync.trim()));
  await ended;
}, 20_000);
