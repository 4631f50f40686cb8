import { expect, test } from 'vitest';
import { command } from '../../host/step.ts';
import { describeProblem } from '../../problem/problem.ts';
import { fakeHost, stoppedUnit } from '../testing/fake-host.ts';
import { dockerImage } from './docker-image.ts';

const name = 'registry:5000/node:v1';
const pin = { id: 'sha256:old', digest: `registry:5000/node@sha256:${'0'.repeat(64)}` };
const engine = { unit: async () => ({ ...stoppedUnit, active: 'active' }) };

/** A host with these images, by name and id. */
const check = (images: Readonly<Record<string, string>>, ...given: Parameters<typeof dockerImage>) =>
  dockerImage(...given).check(
    fakeHost(
      Object.entries(images).map(([image, id]) => [new RegExp(`inspect .* ${image}$`), `${id}\n`]),
      engine,
    ),
  );
const change = async (...all: Parameters<typeof check>) => {
  const verdict = await check(...all);
  return verdict.is === 'drift' ? verdict.change : verdict;
};
const pull = (image: string) => command({ timeoutSeconds: 4 * 3600 })`docker pull --quiet ${image}`;

test('an image is there by its name', async () => {
  expect(await check({ [name]: 'sha256:any' }, name)).toEqual({ is: 'ok' });
  expect(await change({}, name)).toEqual([pull(name)]);
});

test('the name of a pinned image has to mean it: it is kept by its id, or pulled by its digest', async () => {
  expect(await check({ [name]: pin.id, [pin.id]: pin.id }, name, pin)).toEqual({ is: 'ok' });
  const tagged = command`docker tag ${pin.id} ${name}`;
  expect(await change({ [name]: 'sha256:new', [pin.id]: pin.id }, name, pin)).toEqual([tagged]);
  const pulled = [pull(pin.digest), command`docker tag ${pin.digest} ${name}`];
  expect(await change({ [name]: 'sha256:new' }, name, pin)).toEqual(pulled);
  expect(await change({}, pin.digest, pin)).toEqual([pull(pin.digest)]);
});

test('a pinned image that is gone and has no digest is reported', async () => {
  const problem = await change({ [name]: 'sha256:new' }, name, { id: pin.id, digest: undefined });
  expect(describeProblem(problem as never)).toBe(
    `the image sha256:old of ${name} is no longer on this host, and its registry gave no digest\n  deploy it from its registry by another name or tag`,
  );
});
