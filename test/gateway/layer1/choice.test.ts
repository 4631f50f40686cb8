import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Choice, startChoice, until } from './choice.ts';
import { type Provider, provider } from './provider.ts';

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('layer 1 by several providers', () => {
  let first: Provider;
  let second: Provider;
  let choice: Choice | undefined;
  const urls = () => [`http://127.0.0.1:${first.port}/v3/KEY-1?a=%20b`, `http://127.0.0.1:${second.port}/`];
  const short = (text: string) =>
    text.replace('shortest_probation, longest_probation, soon = 60, 960, 600', 'shortest_probation, longest_probation, soon = 6, 96, 600');
  const start = async (edit: (text: string) => string = short, own: readonly string[] = urls()) => {
    choice = await startChoice(own, edit);
    return choice;
  };
  const who = async () => (await choice?.ask('who'))?.body.result;

  beforeEach(async () => {
    [first, second] = [provider(28_601), provider(28_602)];
    await Promise.all([first.start(), second.start()]);
  });
  afterEach(async () => {
    await choice?.kill();
    choice = undefined;
    await Promise.all([first.stop(), second.stop()]);
  });

  test('the first one is used, by its path and its host, and sees no other header of the node', async () => {
    await start();
    expect(await who()).toBe(28_601);
    const asked = first.seen.filter(({ method }) => method === 'who');
    expect(asked.map(({ path }) => path)).toEqual(['/v3/KEY-1?a=%20b']);
    expect(asked[0]?.headers.host).toBe('127.0.0.1:28601');
    expect(Object.keys(asked[0]?.headers ?? {}).sort()).toEqual(['content-length', 'host']);
    const state = await choice?.state();
    expect(state?.providers).toEqual([
      { provider: '127.0.0.1:28601', used: true, usable: true, reason: null, height: 10_000 },
      { provider: '127.0.0.1:28602', used: false, usable: true, reason: null, height: 10_000 },
    ]);
    expect(JSON.stringify(state) + choice?.log()).not.toContain('KEY-1');
  });

  test.each<[string, () => unknown, RegExp, number]>([
    ['lags', () => { second.height += 50; }, /^50 blocks behind the best, at 10000$/, 7],
    ['stalls', () => { first.silent = true; }, /^does not answer$/, 12],
    ['is down', () => first.stop(), /^cannot be reached$/, 8],
    ['answers HTTP 500', () => { first.refusal = { status: 500, body: '' }; }, /^answers HTTP 500$/, 7],
  ])('one that %s is left', async (_, break_, reason, within) => {
    const { of, used } = await start();
    await break_();
    const seconds = await until(async () => (await used()) === 1, 'the second one is used', within);
    console.log(`left after ${seconds.toFixed(1)} s`);
    expect((await of(0)).reason).toMatch(reason);
    expect(await who()).toBe(28_602);
  });
});
