import { expect, test } from 'vitest';
import type { ContainerState } from '../../host/host.ts';
import { runningContainer } from '../testing/fake-host.ts';
import { ContainerEnded, configHashLabel, containerDifferences, startDifferences } from './compose-service.ts';

const running: ContainerState = { ...runningContainer, labels: { [configHashLabel]: 'current' } };

test.each([
  [undefined, [{ what: 'container', was: 'absent', wanted: 'running' }]],
  [running, []],
  [{ ...running, status: 'exited', exitCode: 3 }, [{ what: 'container', was: 'exited with 3', wanted: 'running' }]],
  [{ ...running, status: 'restarting' }, [{ what: 'container', was: 'restarting', wanted: 'running' }]],
  [{ ...running, labels: {} }, [{ what: 'configuration', was: 'unlabelled', wanted: 'current' }]],
  [
    { ...running, status: 'created', labels: { [configHashLabel]: 'former' } },
    [
      { what: 'container', was: 'created', wanted: 'running' },
      { what: 'configuration', was: 'former', wanted: 'current' },
    ],
  ],
])('a container differs in what is not as it should be: %#', (state, differences) => {
  expect(containerDifferences(state, 'current')).toEqual(differences);
});

test('an exit code that says why is told in words', () => {
  const { message } = new ContainerEnded('prover', { status: 'exited', exitCode: 132 }, '');
  expect(message).toBe(
    'container prover is exited, exit code 132 (illegal instruction: the processor lacks what the program was built for, as avx2, bmi2 or adx)',
  );
});

test('a container that was started before a file changed may have read what was there before', () => {
  const state = { status: 'running', startedAt: '2026-01-01T00:00:10.5Z' };
  const at = (text: string) => Date.parse(text) / 1000;
  const files = [
    { path: '/opt/old', modified: at('2026-01-01T00:00:10.4Z') },
    { path: '/opt/new', modified: at('2026-01-01T00:00:10.6Z') },
  ];
  expect(startDifferences(state, files)).toEqual([
    { what: 'started', was: 'before /opt/new changed', wanted: 'after it' },
  ]);
  expect(startDifferences({ ...state, status: 'exited' }, files)).toEqual([]);
  expect(startDifferences(undefined, files)).toEqual([]);
});

test('a container that was killed, or is gone, is told with its last words', () => {
  expect(new ContainerEnded('prover', { status: 'exited', exitCode: 137 }, 'Killed').message).toBe(
    'container prover is exited, exit code 137 (killed, most often for want of memory)\nKilled',
  );
  expect(new ContainerEnded('sync', undefined, '').message).toBe('container sync is gone');
});
