import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeUnmet, ok } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { dockerCanBeUsed, readDocker } from './docker-there.ts';

const hostWith = (stdout: string) => fakeHost([[/\/snap\/docker\/current/, stdout]]);

test.each([
  ['', { engine: undefined, client: false, compose: undefined, lacksAppArmor: false, refusal: undefined }],
  // Of Debian 12, with its packages docker.io and docker-compose.
  [
    'running\nengine docker.io\nclient\ncompose 1\n',
    { engine: 'docker.io', client: true, compose: 1, lacksAppArmor: false, refusal: undefined },
  ],
  // Static programs.
  [
    'running\nengine \nclient\ncompose 2\n',
    { engine: '', client: true, compose: 2, lacksAppArmor: false, refusal: undefined },
  ],
  // Both are there, and the system's own runs.
  [
    'rootless dev\nrunning\nengine docker-ce\nclient\n',
    { engine: 'docker-ce', client: true, compose: undefined, lacksAppArmor: false, refusal: undefined },
  ],
])('%j', async (text, there) => {
  expect(await readDocker(hostWith(text))).toEqual(there);
  expect(await dockerCanBeUsed().check(hostWith(text))).toEqual(ok);
});

test.each([
  [
    'snap\nengine docker.io\nrunning\nclient\n',
    `docker is installed as a snap: its data and its daemon.json are below /var/snap/docker, where snap alone decides
move its containers and volumes elsewhere, then snap remove docker; a deploy installs the engine of the distribution`,
  ],
  [
    'rootless dev\nengine docker-ce\nclient\ncompose 2\n',
    `docker runs without root here, for user dev, and the system's own engine does not run
decide which one this host has: systemctl enable --now docker for the system's own, or, as dev, dockerd-rootless-setuptool.sh uninstall --force`,
  ],
  [
    'not docker podman version 4.3.1\n',
    `the program docker on this host is not Docker: podman version 4.3.1
remove the package that it is from, such as podman-docker: dpkg --search "$(command -v docker)"`,
  ],
])('%j is refused, with what to do', async (text, words) => {
  const resource = dockerCanBeUsed();
  expect(resource.expects).toBe('must');
  expect(describeUnmet(resource, await resource.check(hostWith(text)))).toBe(words);
});

const folder = new URL('../../../../test/hosts/', import.meta.url);

/** What the refusal of each host begins with; empty where its Docker can be used. */
const hosts: Readonly<Record<string, string>> = {
  'ubuntu-24.04': '',
  'docker-ce': '',
  'docker-data-root': '',
  'docker-masquerade': '',
  'docker-snap': 'docker is installed as a snap: its data and its daemon.json are below /var/snap/docker',
  'docker-rootless': "docker runs without root here, for user dev, and the system's own engine does not run",
  'docker-userns':
    'docker gives its containers users of their own (userns-remap): they cannot read the files of the deployment, and no database can own its data',
  'docker-no-rules':
    'docker makes no rules for packets here (iptables: false), and nobody else masquerades what containers send: they reach no other host',
};

test('every host with Docker is judged', () => {
  const names = readdirSync(folder).filter((name) => existsSync(new URL(`${name}/docker-there`, folder)));
  expect(names.toSorted()).toEqual(Object.keys(hosts).toSorted());
});

test.each(Object.entries(hosts))('%s: %s', async (name, words) => {
  const host = hostWith(readFileSync(new URL(`${name}/docker-there`, folder), 'utf8'));
  const resource = dockerCanBeUsed();
  const verdict = await resource.check(host);
  if (words === '') {
    expect(verdict).toEqual(ok);
    expect(await readDocker(host)).toMatchObject({ compose: 2, client: true });
  } else expect(describeUnmet(resource, verdict).startsWith(words)).toBe(true);
});

test.each([
  [
    'docker-userns',
    'if nothing else needs that: stop the containers, take userns-remap out of /etc/docker/daemon.json (or out of docker.service), and systemctl restart docker. The images and containers that it has now are hidden then, and are back with the setting',
  ],
  [
    'docker-no-rules',
    "take iptables out of /etc/docker/daemon.json (or out of docker.service), and systemctl restart docker: the deployment's own rules guard its ports either way. Or masquerade what containers send to other hosts, also after a reboot",
  ],
])('%s: what to do', async (name, hint) => {
  const text = readFileSync(new URL(`${name}/docker-there`, folder), 'utf8');
  expect((await readDocker(hostWith(text))).refusal).toMatchObject({ hint });
});
