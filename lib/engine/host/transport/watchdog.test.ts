import { expect, test, vi } from 'vitest';
import { ConnectionLost } from '../connection-errors.ts';
import { connectLocally } from '../testing/local-connection.ts';
import { createWatchdog } from './watchdog.ts';

const never = () => new Promise<never>(() => {});

test('a host that prints without end is disconnected, with the reason', async () => {
  const connection = await connectLocally();
  const flood = connection.exec('cat /dev/zero', { timeoutSeconds: 30 });
  await expect(flood).rejects.toThrow(ConnectionLost);
  await expect(flood).rejects.toThrow(
    'here: the connection was lost: one command printed more than 32 MiB there',
  );
});

test('a host that stops answering is disconnected some time after its own limit; another host is not', async () => {
  vi.useFakeTimers();
  try {
    const gaveUp: string[] = [];
    const lost = (why: string) => {
      gaveUp.push(why);
      return new Error(why);
    };
    const silent = createWatchdog(10, lost).guard(never()).catch(String);
    const quick = createWatchdog(10, lost).guard(Promise.resolve('answer'));
    await vi.advanceTimersByTimeAsync(70_000);
    expect(await silent).toBe('Error: no answer within 70 s');
    expect(await quick).toBe('answer');
    expect(gaveUp).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});
