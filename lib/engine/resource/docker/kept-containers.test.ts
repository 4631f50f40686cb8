import { expect, test } from 'vitest';
import { describeStep } from '../../host/step.ts';
import { ok } from '../resource.ts';
import { type Answer, fakeHost } from '../testing/fake-host.ts';
import { containersOutliveEngine } from './kept-containers.ts';

const [outlive, advice] = containersOutliveEngine('any');
const running = [/docker info/, 'false inactive'] as const satisfies readonly [RegExp, Answer];

async function stepsOn(answers: readonly (readonly [RegExp, Answer])[], daemon?: string) {
  const read = async () => (daemon === undefined ? undefined : Buffer.from(daemon));
  const verdict = await outlive?.check(fakeHost(answers, { read }));
  return verdict?.is === 'drift' && Array.isArray(verdict.change) ? verdict.change.map(describeStep) : [];
}

test('before the engine is installed, its folder is made, and it starts with the setting', async () => {
  expect((await stepsOn([])).map((step) => step.replace(/ \(.*/, ''))).toEqual([
    'make directory /usr/local/lib/any',
    'write /usr/local/lib/any/engine-containers',
    'make directory /etc/systemd/system/docker.service.d',
    'write /etc/systemd/system/docker.service.d/any-containers.conf',
    'systemctl daemon-reload',
    'make directory /etc/docker',
    'write /etc/docker/daemon.json',
  ]);
});

test('an engine that runs reads the setting, also one that a former run has written', async () => {
  for (const daemon of ['{}', '{"live-restore": true}']) {
    expect((await stepsOn([running], daemon)).at(-1)).toMatch(/^systemctl reload docker\.service/);
  }
});

test.each([
  [
    'a setting of the operator',
    [running],
    '{"live-restore": false}',
    '/etc/docker/daemon.json says live-restore: false',
  ],
  [
    'an option of the engine',
    [[/MainPID/, '--live-restore=false'], running],
    '{}',
    'docker is started with --live-restore=false',
  ],
  [
    'a swarm',
    [[/docker info/, 'false active']],
    '{}',
    'docker is part of a swarm, which does not start with live-restore',
  ],
] satisfies [string, (readonly [RegExp, Answer])[], string, string][])(
  '%s stays, and the operator reads it',
  async (_, answers, daemon, words) => {
    expect((await stepsOn(answers, daemon)).join('\n')).not.toContain('daemon.json');
    const read = async () => Buffer.from(daemon);
    expect(await advice?.check(fakeHost(answers, { read }))).toMatchObject({ is: 'drift', note: words });
  },
);

test('an engine with the setting on its command line does not get it in its file, too', async () => {
  const answers = [
    [/MainPID/, '--live-restore'],
    [/docker info/, 'true inactive'],
  ] as const;
  expect((await stepsOn(answers, '{}')).join('\n')).not.toContain('daemon.json');
  expect(await advice?.check(fakeHost(answers, { read: async () => Buffer.from('{}') }))).toEqual(ok);
});
