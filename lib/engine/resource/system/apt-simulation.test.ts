import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeUnmet, describeVerdict, ok, type Resource, refusalOf } from '../resource.ts';
import { type Answer, fakeHost } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { aptDoesNoHarm, inOneTransaction, packages, packagesThatLack } from './packages.ts';

// What `apt-get -q -s install` of Debian 12 printed on hosts that were made so, without its lines
// `Conf`.
const printed = (name: string) => readFileSync(new URL(`testdata/apt-${name}.txt`, import.meta.url), 'utf8');

/** A host without these packages, where apt answers so. */
function hostWith(answer: Answer, has: readonly string[] = []) {
  return fakeHost(
    [
      [/^command -v dpkg-query/, ''],
      [/apt-get -q -s --no-install-recommends/, answer],
    ],
    { package: async (name) => ({ installed: has.includes(name), version: undefined }) },
  );
}

const readyBut = (text: string, days: number) => text.replace(/^\d+/, String(days));

test('the plan names each package with its version, and what comes with them', async () => {
  const verdict = await packages('tree', 'docker.io', 'chrony').check(hostWith(printed('bare'), ['tree']));
  if (verdict.is !== 'drift') throw new Error(verdict.is);
  expect(verdict.differences.slice(0, 2)).toEqual([
    { what: 'docker.io', was: 'not installed', wanted: '20.10.24+dfsg1-1+deb12u1+b6' },
    { what: 'chrony', was: 'not installed', wanted: '4.3-2+deb12u3' },
  ]);
  expect(verdict.differences).toHaveLength(3);
  expect(verdict.differences[2]).toEqual({
    what: 'with them',
    was: 'not installed',
    wanted: expect.stringMatching(
      /runc 1\.1\.5\+ds1-1\+deb12u1, containerd 1\.6\.20~ds1-1\+deb12u3, tini 0\.19\.0-1\+b3, /,
    ),
  });
  expect(verdict.note).toBeUndefined();
});

test('the plan names a package that is there and gets a newer version', async () => {
  expect(describeVerdict(await packages('python3-yaml').check(hostWith(printed('upgrade'))))).toMatch(
    /^python3-yaml: not installed -> 6\.0-3\+b2; libyaml-0-2: 0\.1\.0-1 -> 0\.2\.5-1; with them: not installed -> libpython3\.11-minimal /,
  );
});

test.each([
  [
    'a removal',
    'removal',
    'to install docker.io, apt would remove containerd.io 1.7.27-1',
    "containerd.io belongs to Docker's own packages: install the rest of them (docker-ce docker-ce-cli docker-compose-plugin), and they stay; or, if nothing needs them: apt-get remove containerd.io",
  ],
  [
    'a downgrade',
    'downgrade',
    'to install docker.io, apt would install an older version of runc',
    'see the pins in /etc/apt/preferences.d and apt-cache policy; downgrade by hand if that is right',
  ],
  [
    'a change of a package that is held',
    'held',
    'to install docker.io, apt would change libyaml-0-2',
    'they are held at their version; if that may end: apt-mark unhold libyaml-0-2',
  ],
  [
    'a request without a solution',
    'no-solution',
    'apt cannot install docker.io: python3-yaml : Depends: libyaml-0-2 (>= 0.2.2~) but 0.1.0-1 is to be installed\nE: Unable to correct problems, you have held broken packages.',
    'see apt-get -s install docker.io',
  ],
])('%s is refused with what to do, before anything changes', async (_, name, message, hint) => {
  const text = printed(name);
  const host = hostWith(name === 'no-solution' ? { exitCode: 100, stdout: text } : text);
  for (const resource of [packages('docker.io'), inOneTransaction('packages', [packages('docker.io')])]) {
    await expect(applyDrift(host, resource)).rejects.toMatchObject({ message, hint });
    const early = aptDoesNoHarm(resource);
    expect(early.expects).toBe('must');
    expect(describeUnmet(early, await early.check(host))).toBe(`${message}\n${hint}`);
  }
});

test('a removal of other packages is refused, too', async () => {
  const text = printed('removal').replaceAll('containerd.io', 'podman-docker');
  await expect(applyDrift(hostWith(text), packages('docker.io'))).rejects.toMatchObject({
    hint: 'find out what needs them; if nothing needs them: apt-get remove podman-docker',
  });
});

test('lists that are old are named, and what they cannot solve is left to newer ones', async () => {
  const check = async (answer: Answer) => describeVerdict(await packages('tree').check(hostWith(answer)));
  expect(await check(readyBut(printed('new'), 3))).toBe(
    'by package lists that are 3 days old; apt fetches them before it installs',
  );
  const unsolved =
    'apt finds no solution by the package lists on this host; they are fetched again before the installation';
  expect(await check({ exitCode: 100, stdout: readyBut(printed('no-solution'), 1) })).toBe(unsolved);
  expect(await check({ exitCode: 100, stdout: '0\nE: Unable to locate package tree\n' })).toBe(unsolved);
  expect(await check({ exitCode: 3 })).toMatch(
    /^this host has no package lists, so what else apt would install is not known yet/,
  );
  for (const answer of [{ exitCode: 3 }, readyBut(printed('new'), 3)]) {
    expect(await aptDoesNoHarm(packages('tree')).check(hostWith(answer))).toEqual(ok);
  }
});

test('apt is not asked where nothing is missing', async () => {
  expect(await packages('tree').check(hostWith({ exitCode: 1 }, ['tree']))).toEqual(ok);
});

test('what another package replaces is in the plan, and is removed for that one alone', async () => {
  const replaces = { chrony: ['systemd-timesyncd'] };
  const lacking = (name: string) => packagesThatLack(name, async () => [name], replaces);
  const lackingNone = packagesThatLack('none', async () => []);
  const versions = new Map([['systemd-timesyncd', '252.38-1~deb12u1']]);
  const host = (answer: Answer) =>
    fakeHost([[/apt-get -q -s --no-install-recommends/, answer]], {
      package: async (name) => ({ installed: versions.has(name), version: versions.get(name) }),
    });
  const replaced = {
    what: 'systemd-timesyncd',
    was: '252.38-1~deb12u1',
    wanted: 'replaced by chrony',
  };
  for (const resource of [
    lacking('chrony'),
    inOneTransaction('packages', [lackingNone, lacking('chrony')]),
  ]) {
    for (const answer of [printed('replaced'), { exitCode: 3 }]) {
      const verdict = await resource.check(host(answer));
      if (verdict.is !== 'drift' || !Array.isArray(verdict.change)) throw new Error(verdict.is);
      expect(verdict.differences.at(-1)).toEqual(replaced);
      expect(verdict.change[0].command).toContain(' 300 90 systemd-timesyncd chrony\n');
      expect(await aptDoesNoHarm(resource).check(host(answer))).toEqual(ok);
    }
  }
  const removed = 'apt would remove systemd-timesyncd 252.38-1~deb12u1';
  const refusal = async (resource: Resource, text: string) =>
    refusalOf(await resource.check(host(text)))?.message;
  expect(await refusal(lacking('ntpsec'), printed('replaced'))).toBe(`to install ntpsec, ${removed}`);
  expect(await refusal(lacking('chrony'), `${printed('replaced')}Remv podman [4.3.1+ds1-8+b1]\n`)).toBe(
    'to install chrony, apt would remove podman 4.3.1+ds1-8+b1',
  );
  const ntpsec = printed('replaced').replaceAll('systemd-timesyncd', 'ntpsec');
  expect(await refusal(lacking('chrony'), ntpsec)).toBe(
    'to install chrony, apt would remove ntpsec 252.38-1~deb12u1',
  );
});
