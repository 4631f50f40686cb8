import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { drift, ok, unknownUntil } from '../resource.ts';
import { engineAnswer } from '../testing/engine-answer.ts';
import { fakeHost, stoppedUnit } from '../testing/fake-host.ts';
import { imagesBelowDockerRoot } from './image-store.ts';

/**
 * @param info Docker's answer: images, containers, state of the storage driver
 */
async function verdicts(info: string, active = 'active') {
  const host = fakeHost([[/docker info/, engineAnswer({ stored: info })]], {
    unit: async () => ({ ...stoppedUnit, load: 'loaded', active }),
    read: async () => Buffer.from('{"data-root": "/data/docker"}'),
  });
  return Promise.all(imagesBelowDockerRoot().map((each) => each.check(host)));
}
const containerd = '[[driver-type io.containerd.snapshotter.v1]]';

test('a new engine that would keep its images with containerd keeps them below its root', async () => {
  const [store, warning] = await verdicts(`0 0 ${containerd}`);
  expect(warning).toEqual(ok);
  expect(store).toMatchObject({
    is: 'drift',
    change: [
      { path: '/etc/docker/daemon.json', content: expect.anything() },
      { do: 'run', command: 'systemctl restart docker.service' },
    ],
  });
  expect(JSON.stringify(store)).toContain('containerd-snapshotter');
});

test('an engine with images keeps its store, with a warning', async () => {
  for (const used of ['1 0', '0 1', '10 0'])
    expect(await verdicts(`${used} ${containerd}`)).toEqual([
      ok,
      drift('they are in /var/lib/containerd, which stays on its disk'),
    ]);
});

test('the usual store needs nothing, and before the engine runs nothing is known', async () => {
  expect(await verdicts('0 0 [[Backing Filesystem extfs]]')).toEqual([ok, ok]);
  const until = unknownUntil('docker is running');
  expect(await verdicts('', 'inactive')).toEqual([until, until]);
});

test.each(['ubuntu-24.04', 'docker-no-rules', 'docker-userns'])(
  '%s: its answer has one store',
  async (name) => {
    const info = readFileSync(
      new URL(`../../../../test/hosts/${name}/docker-store`, import.meta.url),
      'utf8',
    ).trim();
    const used = drift('they are in /var/lib/containerd, which stays on its disk');
    expect(await verdicts(info)).toEqual([ok, name === 'docker-userns' ? ok : used]);
  },
);
