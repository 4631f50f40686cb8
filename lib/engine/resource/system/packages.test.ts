import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../host/testing/local-connection.ts';
import { drift } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { packages } from './packages.ts';

test('the name lists the packages', () => {
  expect(packages('chrony', 'g++', 'libc6.1').name).toBe('packages chrony, g++, libc6.1');
});

test.each(['-y', 'a b', 'UPPER', 'x=1.0', '', '$(id)'])('%j is refused as a package', (name) => {
  expect(() => packages(name)).toThrow('no name of a package');
});

test('another distribution is reported with what can be done', async () => {
  const host = fakeHost([]);
  const chrony = packages('chrony', 'curl');
  expect(await chrony.check(host)).toMatchObject(
    drift('there is no dpkg and apt on this host, so nothing can be installed'),
  );
  await expect(applyDrift(host, chrony)).rejects.toMatchObject({
    message: 'there is no dpkg and apt on this host, so nothing can be installed',
    hint: 'use Debian or Ubuntu, or install by hand: chrony curl',
  });
});

test('a failed installation is reported with the end of the output of apt, and what to do', async () => {
  const host = fakeHost([
    [/^command -v dpkg-query/, ''],
    [/^# apt-get install chrony\n/, { exitCode: 1, stderr: 'E: Unable to locate package chrony\n' }],
  ]);
  await expect(applyDrift(host, packages('chrony'))).rejects.toMatchObject({
    message: 'chrony could not be installed: E: Unable to locate package chrony',
    hint: 'if a mirror of /etc/apt/sources.list and sources.list.d cannot be reached from there, fix it: apt-get update',
  });
});

/** Runs the script with a stand-in for apt-get, which knows the lists of this machine. */
function installWith(aptGet: string, replaced = '') {
  const stubs = temporaryDirectory();
  for (const [name, text] of Object.entries({
    'apt-get': aptGet,
    dpkg: 'echo dpkg "$@" >&2',
    'apt-cache': 'exit 1',
  })) {
    writeFileSync(join(stubs, name), `#!/bin/sh\nd=${stubs}\n${text}\n`, { mode: 0o755 });
  }
  const script = new URL('../../../../templates/host/install-packages.sh', import.meta.url).pathname;
  const env = { ...process.env, PATH: `${stubs}:${process.env.PATH}` };
  return spawnSync('sh', [script, '300', '1', replaced, 'chrony'], { env, encoding: 'utf8' });
}

test('if packages cannot be installed and the lists could not be fetched, both are reported', () => {
  const { status, stderr } = installWith(`case "$*" in
    *update*) echo 'E: The repository http://gone has no Release file.' >&2; exit 100 ;;
    *) echo 'E: Unable to locate package chrony'; exit 100 ;;
  esac`);
  expect(status).toBe(1);
  expect(stderr).toBe(
    'E: Unable to locate package chrony\nthe package lists could not be fetched either: E: The repository http://gone has no Release file.\n',
  );
});

test('a fetch of the lists that hangs is ended and tried again, and an interrupted installation is finished first', () => {
  const { status, stderr } = installWith(`case "$*" in
    *update*) [ -e $d/hung ] || { touch $d/hung; sleep 30; } ;;
    *) [ -e $d/asked ] || { touch $d/asked; echo "run 'dpkg --configure -a' to correct the problem"; exit 100; } ;;
  esac`);
  expect([status, stderr]).toEqual([0, 'dpkg --configure -a --force-confdef --force-confold\n']);
});

test('a removal that only newer package lists bring is refused by apt itself, and named', () => {
  // As apt 2.6 of Debian 12 says it.
  const { status, stderr } = installWith(`case "$*" in
    *update*) ;;
    *--no-remove*) cat <<'END'
The following packages will be REMOVED:
  containerd.io
  podman
The following NEW packages will be installed:
  containerd docker.io runc tini
0 upgraded, 4 newly installed, 1 to remove and 0 not upgraded.
E: Packages need to be removed but remove is disabled.
END
      exit 100 ;;
  esac`);
  expect([status, stderr]).toEqual([1, 'apt would remove containerd.io podman, so nothing was installed\n']);
});

// As apt 2.6 of Debian 12 says it beforehand.
const replacing = readFileSync(new URL('testdata/apt-replaced.txt', import.meta.url), 'utf8');

test.each([
  ['only what may go', '', 'systemd-timesyncd', 'apt may remove'],
  ['nothing', '', '', 'apt may not remove'],
  ['others, too', 'Remv podman [4.3.1+ds1-8+b1]\n', 'systemd-timesyncd', 'apt may not remove'],
])('a package goes where the lists of the installation let go %s', (_, more, replaced, said) => {
  const { stderr } = installWith(
    `case "$*" in
    *update*) ;;
    *' -s '*) cat <<'END'
${replacing}${more}END
      ;;
    *--no-remove*) echo apt may not remove; exit 100 ;;
    *) echo apt may remove; exit 100 ;;
  esac`,
    replaced,
  );
  expect(stderr).toBe(`${said}\n`);
});
