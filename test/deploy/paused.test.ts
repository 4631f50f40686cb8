import { beforeAll, expect, test } from 'vitest';
import { docker } from '../../lab/docker.mjs';
import { hostNamed } from '../../lab/layout.mjs';
import { answers } from '../../lab/reach.mjs';
import { labUp } from '../../lab/up.mjs';
import { scratchHost } from '../kinds/scratch.ts';

const { container, address } = hostNamed('rpc-1');
const state = () => docker(['inspect', '--format', '{{.State.Status}}', container]);

beforeAll(() => labUp({ log: console.error }));

test('tests of parts start beside a paused server of the lab, and leave it paused', async () => {
  await docker(['pause', container]);
  try {
    const scratch = await scratchHost();
    await scratch.remove();
    expect(await state()).toBe('paused');
  } finally {
    await docker(['unpause', container]);
  }
});

test('the lab brings a paused server up again', async () => {
  await docker(['pause', container]);
  await labUp({ log: console.error });
  expect(await state()).toBe('running');
  expect(await answers(address, 22)).toBe(true);
});
