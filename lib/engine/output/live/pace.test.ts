import { expect, test } from 'vitest';
import { Pacer } from './pace.ts';

test('the pace is known after a second, and the time left counts down between two progress reports', () => {
  const pacer = new Pacer();
  pacer.add(0, 100);
  pacer.add(0.5, 150);
  expect(pacer.pace(0.5, 1000).perSecond).toBeUndefined();
  pacer.add(2, 200);
  expect(pacer.pace(2, 1000)).toEqual({ perSecond: 50, secondsLeft: 16 });
  expect(pacer.pace(5, 1000)).toEqual({ perSecond: 50, secondsLeft: 13 });
  expect(pacer.pace(500, 1000).secondsLeft).toBe(0);
  expect(pacer.pace(2, undefined)).toEqual({ perSecond: 50, secondsLeft: undefined });
});

test('the pace is that of the last half minute', () => {
  const pacer = new Pacer();
  for (let at = 0; at <= 100; at += 5) pacer.add(at, at * 100);
  for (let at = 105; at <= 140; at += 5) pacer.add(at, 10_000 + at);
  expect(pacer.pace(140, undefined).perSecond).toBe(1);
});

test('stalled work is shown as such, and restarted work is measured again', () => {
  const pacer = new Pacer();
  pacer.add(0, 500);
  pacer.add(10, 500);
  expect(pacer.pace(10, 1000)).toEqual({ perSecond: 0, secondsLeft: undefined });
  pacer.add(12, 0);
  pacer.add(14, 20);
  expect(pacer.pace(14, undefined).perSecond).toBe(10);
});
