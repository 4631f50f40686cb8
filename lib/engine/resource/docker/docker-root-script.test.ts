import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { readScript } from '../../host/script.ts';
import { standInFor, temporaryDirectory } from '../../host/testing/local-connection.ts';

const functions = readScript(new URL('../../../../templates/host/docker-root.sh', import.meta.url));

/** What `systemctl show` prints of a unit of Docker, by property. */
interface Unit {
  readonly exec: string;
  readonly environment?: string;
  readonly files?: string;
}

/** As Debian's package has it. */
const debian: Unit = {
  exec: '{ path=/usr/sbin/dockerd ; argv[]=/usr/sbin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock $DOCKER_OPTS ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }',
};

const withOptions = (options: string): Unit => ({ exec: debian.exec.replace('$DOCKER_OPTS', options) });

function unitIs({ exec, environment = '', files = '' }: Unit, isActive = false): void {
  standInFor(
    'systemctl',
    `case "$*" in
  is-active*) exit ${isActive ? 0 : 3} ;;
  *MainPID*) echo 0 ;;
  *ExecStart*) printf '%s\\n' '${exec}' ;;
  *EnvironmentFiles*) echo '${files}' ;;
  *Environment*) echo '${environment}' ;;
esac`,
  );
}

/** Runs the functions, and then this. */
async function said(script: string): Promise<string> {
  const child = spawn('sh', ['-c', `${functions}\n${script}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  return (await child.stdout.toArray()).join('').trim();
}

function fileWith(text: string): string {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, text);
  return path;
}

test.each<[string, string, () => Unit]>([
  ['in the unit', '/data/one', () => withOptions('--data-root=/data/one')],
  ['in the unit, as a word of its own', '/data/one', () => withOptions('--data-root /data/one')],
  ['of an older engine', '/data/one', () => withOptions('-g /data/one')],
  ['of an older engine, in full', '/data/one', () => withOptions('--graph=/data/one')],
  [
    'in a variable of the unit',
    '/data/one',
    () => ({
      ...debian,
      environment: '"DOCKER_OPTS=--default-ulimit nofile=1024:20000 --data-root /data/one"',
    }),
  ],
  [
    'as the only one in a variable of the unit',
    '/data/one',
    () => ({ ...debian, environment: 'DOCKER_OPTS=--data-root=/data/one' }),
  ],
  [
    'in a file of variables',
    '/data/one',
    () => ({
      ...debian,
      files: `${fileWith('# DOCKER_OPTS="--data-root /old"\nDOCKER_OPTS="--dns 8.8.8.8 -g /data/one"\n')} (ignore_errors=yes)`,
    }),
  ],
  [
    'in a file of settings that an option names',
    '/data/one',
    () => withOptions(`--config-file ${fileWith('{\n  "data-root": "/data/one"\n}\n')}`),
  ],
  ['that nothing names', '/var/lib/docker', () => withOptions('--config-file=/nowhere')],
])('the data of a stopped engine are where an option has them: %s', async (_, root, unit) => {
  unitIs(unit());
  expect(await said('docker_root')).toBe(root);
});

test('an engine that never answers holds up nobody', async () => {
  unitIs(withOptions('--data-root=/data/one'), true);
  const socket = join(temporaryDirectory(), 'docker.sock');
  let asked = 0;
  const server = createServer(() => {
    asked += 1;
  });
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  onTestFinished(() => void server.close());
  // The real one, on that socket, and with a limit of one second instead of its own.
  const words = `"$(command -v -p curl)" $(echo "$*" | sed 's,/run/docker.sock,${socket},; s/-m [0-9]* /-m 1 /')`;
  standInFor('curl', `exec ${words}`);
  standInFor('docker', 'sleep 60');
  const began = Date.now();
  expect(await said('docker_root')).toBe('/data/one');
  expect(asked).toBe(1);
  expect(Date.now() - began).toBeLessThan(5000);
});

test('a running engine says itself where its data are', async () => {
  unitIs(debian, true);
  standInFor('curl', `echo '{"ID":"a","Driver":"overlay2","DockerRootDir":"/data/docker","Name":"rpc-1"}'`);
  expect(await said('docker_root')).toBe('/data/docker');
});

const hosts = new URL('../../../../test/hosts/', import.meta.url);

test.each([
  ['docker-userns', 'userns-remap', 'default'],
  ['docker-no-rules', 'iptables', 'false'],
  ['docker-no-rules', 'userns-remap', ''],
])('%s: the setting %s is %s', async (name, setting, value) => {
  unitIs(withOptions(`--config-file ${fileURLToPath(new URL(`${name}/daemon.json`, hosts))}`));
  expect(await said(`dockerd_setting ${setting}`)).toBe(value);
});

test('a setting that is an option counts, and the data of that host are where the option has them', async () => {
  unitIs(withOptions('--iptables=false'));
  expect(await said('dockerd_setting iptables')).toBe('false');
  unitIs({ exec: readFileSync(new URL('docker-data-root/exec-start', hosts), 'utf8').trim() });
  expect(await said('docker_root')).toBe('/srv/docker');
});

const obstacles = readScript(new URL('../../../../templates/host/docker-root-obstacles.sh', import.meta.url));

/** Docker as it prints its storage driver (`docker info --format '{{.Driver}}'`). */
const dockerWith = (driver: string) =>
  standInFor(
    'docker',
    `case "$*" in *SecurityOptions*) echo '[name=apparmor]' ;; *Driver*) echo ${driver} ;; esac`,
  );

test.each(['btrfs', 'zfs', 'devicemapper', 'aufs'])(
  'a copy of files lacks the layers of the storage driver %s: nothing is moved',
  async (driver) => {
    unitIs(debian);
    dockerWith(driver);
    const [from, to] = [temporaryDirectory(), temporaryDirectory()];
    expect(await said(`set -- ${from} ${to}/docker ${from}\n${obstacles}`)).toBe(
      `Docker keeps its images and containers by its storage driver ${driver}, and a copy of ${from} would hold none of their files
leave its data on the disk of ${from} (docker_root: { disk: … }), or write "storage-driver": "overlay2" into /etc/docker/daemon.json and restart Docker: it begins without its images and containers, whose files stay in ${from}`,
    );
  },
);

test.each(['overlay2', 'overlayfs', 'fuse-overlayfs', 'vfs'])(
  'layers of the storage driver %s are files, and a move may begin',
  async (driver) => {
    unitIs(debian);
    dockerWith(driver);
    standInFor(
      'findmnt',
      'case "$*" in *FSTYPE*--mountpoint*) echo ext4 ;; *OPTIONS*) echo rw,relatime ;; esac',
    );
    const [from, to] = [temporaryDirectory(), temporaryDirectory()];
    expect(await said(`set -- ${from} ${to}/docker ${from}\n${obstacles}`)).toBe('');
  },
);

test('xfs-without-ftype: no move to that file system is begun', async () => {
  unitIs(debian);
  const [from, to] = [temporaryDirectory(), temporaryDirectory()];
  standInFor('docker', 'exit 1');
  standInFor(
    'findmnt',
    'case "$*" in *FSTYPE*--mountpoint*) echo xfs ;; *OPTIONS*) echo rw,relatime ;; esac',
  );
  standInFor('xfs_info', `exec cat ${fileURLToPath(new URL('xfs-without-ftype/xfs_info', hosts))}`);
  expect(await said(`set -- ${from} ${to}/docker ${from}\n${obstacles}`)).toMatch(
    /^the XFS file system at \S+ was made without ftype, and Docker does not start on it\nonly a new file system has ftype/,
  );
});
