import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { processesWith } from '../../lib/engine/host/testing/local-connection.ts';
import { newUser, said, sshConfig, sshdWith, twoFactors } from './login.ts';
import { installSshd } from './sshd.ts';

beforeAll(() => {
  installSshd();
  vi.stubEnv('SSH_AUTH_SOCK', '');
});

afterAll(() => void vi.unstubAllEnvs());

const hosts = (count: number) => Array.from({ length: count }, (_, at) => `rpc-${at + 1}`);

test('many hosts ask, one after the other, and none of them gives the login up meanwhile', async () => {
  const own = await sshdWith(`${twoFactors}\nLoginGraceTime 8`);
  const user = newUser();
  const asked: string[] = [];
  let open = 0;
  const ask = async (question: string) => {
    asked.push(question.replace(/:.*/, ''));
    open += 1;
    expect(open).toBe(1);
    // An operator who takes a while.
    await delay(3000);
    open -= 1;
    return 'right-password';
  };
  const names = hosts(6);
  const all = names.map((name) => said(own, { user, client: 'openssh' }, ask, name));
  expect(await Promise.all(all)).toEqual(names.map(() => 'in'));
  expect(asked.sort()).toEqual(names);
});

test('a host that asks nothing does not wait for the questions of others', async () => {
  const [asking, plain] = [await sshdWith(twoFactors), await sshdWith('')];
  const user = newUser();
  let answer: (text: string) => void = () => {};
  const answered = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const ask = vi.fn(() => answered);
  const first = said(asking, { user }, ask);
  await vi.waitFor(() => expect(ask).toHaveBeenCalled(), 60_000);
  expect(await said(plain, { client: 'openssh' }, ask)).toBe('in');
  answer('right-password');
  expect(await first).toBe('in');
});

test('after Ctrl-C at one question no other is asked, and nothing is left', async () => {
  const own = await sshdWith(twoFactors);
  const user = newUser();
  const interrupt = new AbortController();
  const ask = vi.fn(async () => {
    await delay(2000);
    interrupt.abort();
    throw new Error('Ctrl-C');
  });
  const options = { ask, signal: interrupt.signal, timeout: 600 };
  const all = hosts(6).map((name) => said(own, { user, client: 'openssh' }, options, name));
  expect(await Promise.all(all)).toEqual(hosts(6).map((name) => `${name}: interrupted while connecting`));
  await delay(1000);
  expect(ask).toHaveBeenCalledTimes(1);
  expect(processesWith(`-p ${own.port} -- 127.0.0.1`)).toEqual([]);
});

test('no time limit is left where the answer comes after the end of the login', async () => {
  const own = await sshdWith(twoFactors);
  const interrupt = new AbortController();
  let answer: (text: string) => void = () => {};
  const ask = vi.fn(
    () =>
      new Promise<string>((resolve) => {
        answer = resolve;
      }),
  );
  // The time limits of this login have a length of their own.
  const timers = new Map<unknown, boolean>();
  const [set, clear] = [globalThis.setTimeout, globalThis.clearTimeout];
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, time?: number) => {
    const timer = set(() => work(), time);
    if (time === 601_000) timers.set(timer, true);
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    timers.delete(timer);
    clear(timer as NodeJS.Timeout);
  });
  try {
    const options = { ask, signal: interrupt.signal, timeout: 601 };
    const login = said(own, { user: newUser(), client: 'openssh' }, options);
    await vi.waitFor(() => expect(ask).toHaveBeenCalled(), 60_000);
    interrupt.abort();
    expect(await login).toBe('db-1: interrupted while connecting');
    answer('right-password');
    await delay(500);
    expect(timers.size).toBe(0);
  } finally {
    vi.restoreAllMocks();
  }
});

test('a wrong answer is asked for again in the same turn', async () => {
  const own = await sshdWith(twoFactors);
  const user = newUser();
  sshConfig('NumberOfPasswordPrompts 2');
  const order: string[] = [];
  const ask = async (question: string) => {
    const name = question.replace(/:.*/, '');
    order.push(name);
    return order.filter((each) => each === name).length === 1 ? 'wrong' : 'right-password';
  };
  const names = hosts(3);
  const all = names.map((name) => said(own, { user, client: 'openssh' }, ask, name));
  expect(await Promise.all(all)).toEqual(names.map(() => 'in'));
  expect(order.filter((_, at) => at % 2 === 0)).toEqual(order.filter((_, at) => at % 2 === 1));
});
