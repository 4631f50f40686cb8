import { expect, test, vi } from 'vitest';
import type { UnitState, Writer } from '../../host/host.ts';
import { Output } from '../../host/output.ts';
import { shell } from '../../host/shell.ts';
import { drift, ok } from '../resource.ts';
import { job } from './job.ts';

/** With how it ended, as systemctl shows it when it is asked for that. */
type State = UnitState & { readonly result: string; readonly mainExitCode: number };

const unit = (active: string, more: Partial<State> = {}): State => ({
  load: 'loaded',
  active,
  sub: '',
  enabled: 'transient',
  activeSince: 0,
  needsReload: false,
  result: 'success',
  mainExitCode: 0,
  ...more,
});

/** A host with a unit in these states, one after the other. */
function hostWith(states: State[], running?: string) {
  const commands: string[] = [];
  const next = () => states.shift() ?? unit('inactive');
  const answer = (text: string) => {
    if (text.includes('journalctl')) return 'disk is full\n';
    if (text.includes('show --property ActiveState --value')) return next().active;
    if (!text.includes('show --property InvocationID')) return '';
    const { active, result, mainExitCode } = next();
    if (active === '') return '\n';
    return `InvocationID=1\nActiveState=${active}\nResult=${result}\nExecMainStatus=${mainExitCode}\n`;
  };
  const command = shell(async (text, { stdin = '' }) => {
    commands.push(`${text}${stdin}`);
    return new Output(0, Buffer.from(answer(text)), '');
  });
  const host = {
    name: 'db-1',
    $: command,
    run: command,
    read: async () => (running === undefined ? undefined : Buffer.from(running)),
    progress: vi.fn(),
    sleep: async (_seconds: number, until?: Promise<void>) => until,
  };
  return {
    host: host as unknown as Writer & typeof host,
    started: () => commands.find((c) => c.includes('systemd-run')),
  };
}

const work = { unit: 'work', script: 'true\n', progress: async () => ({ what: 'working' }) };

test('a job that does not run is started and watched to its end', async () => {
  const { host, started } = hostWith([unit('inactive'), unit('active'), unit('active')]);
  await job('it is done', { ...work, done: async () => ok }).work(host);
  expect(started()).toMatch(/cat >.*\/run\/rpc-playbooks\/work\.sh.*true\n$/s);
  expect(host.progress).toHaveBeenCalledWith({ what: 'working' });
});

test('a job that an earlier run started is found again', async () => {
  const { host, started } = hostWith([unit('active'), unit('active')], 'true\n');
  await job('it is done', { ...work, done: async () => ok }).work(host);
  expect(started()).toBeUndefined();
});

test('a job that ended since the check is not started again', async () => {
  const { host, started } = hostWith([unit('inactive')], 'true\n');
  await job('it is done', { ...work, done: async () => ok }).work(host);
  expect(started()).toBeUndefined();
});

test('a unit of that name with another script is left unchanged and reported', async () => {
  const { host, started } = hostWith([unit('active')], 'false\n');
  const applied = job('it is done', { ...work, done: async () => ok }).work(host);
  await expect(applied).rejects.toThrow('it is done: work is still running with other settings');
  expect(started()).toBeUndefined();
});

test('a failure is reported with its exit code and its last output', async () => {
  const { host } = hostWith([unit('inactive'), unit('failed', { result: 'exit-code', mainExitCode: 3 })]);
  const applied = job('it is done', { ...work, done: async () => drift('not yet') }).work(host);
  await expect(applied).rejects.toThrow('it is done: work failed (exit code 3)\ndisk is full');
});

test('exit code 0 proves nothing: the result of the job is checked', async () => {
  const { host } = hostWith([unit('inactive')]);
  const applied = job('it is done', { ...work, done: async () => drift('the table is empty') }).work(host);
  await expect(applied).rejects.toThrow('the job ended, and still: the table is empty\ndisk is full');
});

test('a job is watched on while systemd does not answer', async () => {
  const { host } = hostWith([
    unit('inactive'),
    ...['active', 'active', '', 'active'].map((active) => unit(active)),
  ]);
  await job('it is done', { ...work, done: async () => ok }).work(host);
  expect(host.progress).toHaveBeenCalledTimes(3);
});

test('a job of which systemd says nothing for long is left running', async () => {
  const { host } = hostWith([unit('inactive'), ...Array.from({ length: 20 }, () => unit(''))]);
  const applied = job('it is done', { ...work, done: async () => drift('not yet') }).work(host);
  await expect(applied).rejects.toMatchObject({
    message: 'systemd does not say whether work runs',
    hint: 'work keeps running on db-1, and the next run finds it again',
  });
});

test('an interrupted wait leaves the job running on the host', async () => {
  const { host } = hostWith([unit('inactive'), unit('active'), unit('active')]);
  const interrupted = { ...host, sleep: async () => {} } as unknown as Writer;
  const applied = job('it is done', { ...work, done: async () => drift('not yet') }).work(interrupted);
  await expect(applied).rejects.toThrow(
    'interrupted; work keeps running on db-1, and the next run finds it again',
  );
});
