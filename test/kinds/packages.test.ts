import { beforeAll, expect, test } from 'vitest';
import { write } from '../../lib/engine/host/step.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { applyDrift, makeSteps, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

// Small, and no other package needs them.
const [one, two] = ['hello', 'tree'] as const;
const hook = '/etc/apt/apt.conf.d/99kinds-test';
const counter = '/run/kinds-test-updates';

let host: TestHost;
beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  const setting = `APT::Update::Pre-Invoke {"echo update >> ${counter}";};\n`;
  await host.run`sh -ec ${onlyTheseTwo}`;
  await makeSteps(host, write(hook, setting));
  return scratch.remove;
});

/** The only source has these two: apt reads the lists of all of Debian for a second, at each call. */
const onlyTheseTwo = `mkdir /srv/packages && cd /srv/packages && apt-get -q update && apt-get -q download ${one} ${two}
for file in *.deb; do
  dpkg-deb --field "$file"
  printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' "$file" "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -d' ' -f1)"
done >Packages
rm /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/packages ./' >/etc/apt/sources.list.d/these-two.list`;

const purge = () => host.run`dpkg --purge ${one} ${two}`;

/** How often the package lists were fetched, according to apt itself. */
const updates = async () => (await host.$`cat ${counter}`).lines().length;

test('missing packages are named and installed, with the lists fetched if there are none', async () => {
  await host.run`rm -rf /var/lib/apt/lists && mkdir -p /var/lib/apt/lists/partial`;
  const differences = await converge(host, packages('dpkg', one, two));
  expect(differences.map(({ what }) => what)).toEqual([one, two]);
  expect((await host.$`hello`).text()).toBe('Hello, world!');
  expect(await updates()).toBe(1);
});

test('recent lists are not fetched again', async () => {
  await purge();
  const before = await updates();
  await converge(host, packages(one));
  expect(await updates()).toBe(before);
});

test('apt is asked again only where its settings, its lists or the packages have changed', async () => {
  await purge();
  const log = '/run/kinds-test-asked';
  const logging = `#!/bin/sh\necho asked >>${log}\nexec /usr/bin/apt-get "$@"\n`;
  await makeSteps(host, write('/usr/local/bin/apt-get', logging, { mode: 0o755 }));
  const asked = async () => (await host.$`cat ${log}`).lines().length;
  const verdict = await packages(one).check(host);
  expect(verdict).toMatchObject({ is: 'drift', differences: [{ what: one, was: 'not installed' }] });
  const changes = ['touch /var/lib/apt/lists', 'touch /var/lib/dpkg/updates', `apt-mark hold ${two}`];
  for (const change of [`touch ${hook}`, ...changes]) {
    const before = await asked();
    expect(await packages(one).check(host)).toEqual(verdict);
    expect(await asked()).toBe(before);
    await host.run`sh -c ${change}`;
    expect(await packages(one).check(host)).toEqual(verdict);
    expect(await asked(), change).toBe(before + 1);
  }
  await host.run`apt-mark unhold ${two}`;
  await host.run`rm /usr/local/bin/apt-get`;
});

test('lists that are old, or older than a source, are fetched again', async () => {
  for (const age of ['touch -d "2 days ago" /var/lib/apt/lists', 'touch /etc/apt/sources.list.d']) {
    await purge();
    const before = await updates();
    await host.run`sh -c ${age}`;
    await converge(host, packages(one));
    expect(await updates(), age).toBe(before + 1);
  }
});

test('a source that does not answer does not prevent installations from others', async () => {
  await purge();
  const broken = '/etc/apt/sources.list.d/kinds-test.list';
  await makeSteps(host, write(broken, 'deb [trusted=yes] http://127.0.0.1:9/none none main\n'));
  try {
    await converge(host, packages(one));
  } finally {
    await host.run`rm ${broken}`;
  }
});

test('a package that was removed but left its configuration is not installed', async () => {
  await host.run`DEBIAN_FRONTEND=noninteractive apt-get -q -y remove ${one}`;
  await converge(host, packages(one));
});

test('a package that no source has fails with its name, and installs nothing', async () => {
  await purge();
  await expect(applyDrift(host, packages(one, 'no-such-package-at-all'))).rejects.toThrow(
    'no-such-package-at-all',
  );
  expect((await host.package(one)).installed).toBe(false);
});

test('another apt that holds the locks is waited for', async () => {
  await purge();
  await host.run`rm -rf /var/lib/apt/lists && mkdir -p /var/lib/apt/lists/partial`;
  // Locks of fcntl, as apt and dpkg take them; flock(1) would take others. First that of the
  // lists, then dpkg's.
  const holder = `use Fcntl; $| = 1;
    for ('/var/lib/apt/lists/lock', '/var/lib/dpkg/lock-frontend') {
      open(my $file, '+>>', $_); my $lock = pack('s s l! l! i', F_WRLCK, 0, 0, 0, 0);
      fcntl($file, F_SETLK, $lock) or die; push @held, $file;
    }
    sleep 3; close $held[0]; sleep 6; close $held[1]`;
  await host.run`systemd-run --quiet --unit kinds-test-lock --no-block perl -e ${holder}; sleep 0.5`;
  const start = performance.now();
  await converge(host, packages(one));
  expect(performance.now() - start).toBeGreaterThan(8000);
});

test('a fetch of the lists that hangs is cancelled and tried again', async () => {
  await purge();
  await host.run`rm -rf /var/lib/apt/lists && mkdir -p /var/lib/apt/lists/partial`;
  const once = '/etc/apt/apt.conf.d/99kinds-test-hang';
  const hang =
    'APT::Update::Pre-Invoke {"[ -e /run/kinds-test-hung ] || { touch /run/kinds-test-hung; sleep 1000; }";};';
  await makeSteps(host, write(once, `${hang}\n`));
  try {
    await converge(host, packages(one));
  } finally {
    await host.run`rm ${once}`;
  }
});

test('an interrupted installation is finished first', async () => {
  await purge();
  await host.run`apt-get -q download ${one} && dpkg --unpack ${one}_*.deb && rm ${one}_*.deb && touch /var/lib/dpkg/updates/0001`;
  await host.run`dpkg-query -s ${one} > /var/lib/dpkg/updates/0001`;
  await converge(host, packages(one));
});

test('a missing dpkg is drift with a clear message, and a change is refused', async () => {
  await host.run`mv /usr/bin/dpkg-query /usr/bin/dpkg-query.away`;
  try {
    expect(await packages(one).check(host)).toMatchObject({
      is: 'drift',
      note: expect.stringContaining('no dpkg'),
    });
    await expect(applyDrift(host, packages(one))).rejects.toThrow('no dpkg');
  } finally {
    await host.run`mv /usr/bin/dpkg-query.away /usr/bin/dpkg-query`;
  }
});
