import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { interruption } from './interrupt.ts';

test('many hosts may listen for an interrupt without a warning of Node', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  const { signal, release } = interruption();
  onTestFinished(() => {
    process.off('warning', warned);
    release();
  });
  for (let host = 0; host < 100; host += 1) signal.addEventListener('abort', () => {});
  await setImmediate();
  expect(warnings).toEqual([]);
});
