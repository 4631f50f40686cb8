import { expect, test } from 'vitest';
import { describeStep } from '../../host/step.ts';
import { fileChange, ok } from '../resource.ts';
import { engineAnswer } from '../testing/engine-answer.ts';
import { type Answer, fakeHost, rootsFile, stoppedUnit } from '../testing/fake-host.ts';
import { containersOutliveEngine } from './kept-containers.ts';

const [outlive, advice] = containersOutliveEngine('any');
const running = [/docker info/, engineAnswer()] as const satisfies readonly [RegExp, Answer];

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

/** Of an engine that started after its settings were written last. Seconds since 1970. */
const times = { written: 1_700_000_000.75, started: 1_700_000_100 };
const unit = async () => ({ ...stoppedUnit, active: 'active', activeSince: times.started });

test.each([
  ['settings that it has read', times.written, 1_700_000_000],
  ['no settings yet', undefined, times.started],
])('an engine with %s gets this one by a reload: nothing asks for its restart', async (_, modified, kept) => {
  const stat = async () => (modified === undefined ? undefined : { ...rootsFile, modified });
  const read = async () => (modified === undefined ? undefined : Buffer.from('{}'));
  const verdict = await outlive?.check(fakeHost([running], { read, stat, unit }));
  if (verdict?.is !== 'drift' || !Array.isArray(verdict.change)) throw new Error('it is no change');
  const steps = verdict.change.map(describeStep);
  expect(steps.at(-2)).toMatch(/^systemctl reload docker\.service/);
  expect(steps.at(-1)).toBe(`touch --date=@${kept} /etc/docker/daemon.json`);
  expect(outlive?.changes?.(verdict.differences)).toEqual([]);
  expect(verdict.differences.at(-1)?.what).toBe('/etc/docker/daemon.json content, read without a restart');
});

test('what else is new in the settings needs the restart, and the plan says so', async () => {
  const stat = async () => ({ ...rootsFile, modified: times.started + 1 });
  const verdict = await outlive?.check(
    fakeHost([running], { read: async () => Buffer.from('{}'), stat, unit }),
  );
  if (verdict?.is !== 'drift' || !Array.isArray(verdict.change)) throw new Error('it is no change');
  expect(verdict.change.map(describeStep).join('\n')).not.toContain('touch');
  expect(outlive?.changes?.(verdict.differences)).toEqual([fileChange('/etc/docker/daemon.json')]);
});

test('an engine that runs reads the setting, also one that a former run has written', async () => {
  for (const daemon of ['{}', '{"live-restore": true}']) {
    expect((await stepsOn([running], daemon)).join('\n')).toMatch(/^systemctl reload docker\.service/m);
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
    [[/docker info/, engineAnswer({ state: 'false active' })]],
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
    [/docker info/, engineAnswer({ state: 'true inactive' })],
  ] as const;
  expect((await stepsOn(answers, '{}')).join('\n')).not.toContain('daemon.json');
  expect(await advice?.check(fakeHost(answers, { read: async () => Buffer.from('{}') }))).toEqual(ok);
});
