import { expect, test } from 'vitest';
import { describeUnmet, ok } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { dockerCanBeUsed, readDocker } from './docker-there.ts';

const hostWith = (stdout: string) => fakeHost([[/^sh -c .*\/snap\/docker\/current/, stdout]]);

test.each([
  ['', { engine: undefined, client: false, compose: undefined, refusal: undefined }],
  // Of Debian 12, with its packages docker.io and docker-compose.
  [
    'running\nengine docker.io\nclient\ncompose 1\n',
    { engine: 'docker.io', client: true, compose: 1, refusal: undefined },
  ],
  // Static programs.
  ['running\nengine \nclient\ncompose 2\n', { engine: '', client: true, compose: 2, refusal: undefined }],
  // Both are there, and the system's own runs.
  [
    'rootless dev\nrunning\nengine docker-ce\nclient\n',
    { engine: 'docker-ce', client: true, compose: undefined, refusal: undefined },
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
decide which one this host has: systemctl enable --now docker for the system's own, or, as dev, dockerd-rootless-setuptool.sh uninstall`,
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
