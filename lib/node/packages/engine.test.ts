import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseOsRelease } from '../../engine/host/facts/os-release.ts';
import { Output } from '../../engine/host/output.ts';
import { packageRead } from '../../engine/host/reads/package.ts';
import { ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { refusal, sound } from '../testing/role-context.ts';
import { composeAnswers, enginePackages } from './engine.ts';

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

const folder = new URL('../../../test/hosts/ubuntu-24.04/', import.meta.url);
const text = (name: string) => readFileSync(new URL(name, folder), 'utf8');

test('Ubuntu 24.04 with its own Docker 29 and Compose needs no package', async () => {
  const names = ['docker.io', 'docker-compose-v2', 'iptables', 'docker-compose'];
  const states = packageRead.answers(new Output(0, Buffer.from(text('packages')), ''), names);
  expect(states.get('docker-compose')).toEqual({ installed: false, version: undefined });
  const host = fakeHost(
    [
      [/^command -v dpkg-query/, ''],
      [/snap\/docker\/current/, text('docker-there')],
    ],
    {
      package: async (name) => {
        const state = states.get(name) ?? packageRead.absent(name);
        if (state instanceof Error) throw state;
        return state;
      },
    },
  );
  expect(
    await enginePackages({ facts: { ...sound, distribution: parseOsRelease(text('os-release')) } }).check(
      host,
    ),
  ).toEqual(ok);
});
