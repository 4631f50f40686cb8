import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { refusal } from '../testing/role-context.ts';
import { composeAnswers } from './engine.ts';

test('a Compose that is installed and does not run is reported', async () => {
  const host = fakeHost([
    [/^command -v docker/, ''],
    [/snap\/docker\/current/, 'engine docker.io\nclient\n'],
    [/^docker-compose version/, { exitCode: 1, stderr: 'ImportError' }],
  ]);
  expect(await refusal([composeAnswers()], 'docker compose answers', host)).toEqual([
    'docker compose answers: neither docker compose nor docker-compose can be run',
    expect.stringMatching(
      /^try docker compose version on the host; its package is docker-compose-v2, docker-compose or/,
    ),
  ]);
});

test('a Compose of version 1 beside an engine that no longer takes its requests is reported', async () => {
  const host = fakeHost([
    [/snap\/docker\/current/, 'running\nengine docker-ce\nclient\n'],
    [/^docker-compose version/, '1.29.2\n'],
  ]);
  expect((await refusal([composeAnswers()], 'docker compose answers', host))[0]).toBe(
    'docker compose answers: docker-compose is version 1.29.2, whose requests this engine no longer takes',
  );
});
