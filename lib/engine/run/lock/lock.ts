import type { Writer } from '../../host/host.ts';
import { readScript } from '../../host/script.ts';
import { appending } from './journal.ts';
import { isDead, type LockHolder, parseHolder } from './lock-holder.ts';

const takeScript = readScript(new URL('take-lock.sh', import.meta.url));
const releaseScript = readScript(new URL('release-lock.sh', import.meta.url));
const breakScript = readScript(new URL('break-lock.sh', import.meta.url));

/** In memory: a reboot releases the lock. */
const usualFolder = '/run/rpc-playbooks';

/** A holder without a heartbeat for this time counts as dead. Seconds. */
export const silence = 90;
/** The interval of heartbeats, each a request: two may be lost. Seconds. */
export const beat = 30;

/** The result of a request for a host's lock. */
export type LockAnswer =
  | {
      readonly taken: true /** When a run last ended there, seconds since 1970 by the host's clock; 0 for never. */;
      readonly lastEnd: number;
    }
  /** Seconds since the holder's last heartbeat. */
  | { readonly taken: false; readonly holder: LockHolder | undefined; readonly silent: number };

/**
 * Takes the lock of a host, a directory that only one run can create. The lock of a dead holder is
 * taken over.
 */
export async function takeLock(host: Writer, own: LockHolder, folder = usualFolder): Promise<LockAnswer> {
  const answer = await ask(host, own, folder);
  if (answer.taken || !answer.holder || !isDead(answer.holder)) return answer;
  await breakLock(host, answer.holder, folder);
  return ask(host, own, folder);
}

async function ask(host: Writer, own: LockHolder, folder: string): Promise<LockAnswer> {
  const output = await host.run({ stdin: JSON.stringify(own) })`sh -c ${takeScript} take-lock ${folder}`;
  const [state, number = '0', ...rest] = output.stdout.split('\n');
  if (state === 'taken') return { taken: true, lastEnd: Number(number) };
  return { taken: false, holder: parseHolder(rest.join('\n')), silent: Number(number) };
}

/**
 * Takes a lock from its holder, if the holder still has it. It is renamed first, so that one of
 * two succeeds.
 */
export async function breakLock(
  host: Writer,
  holder: LockHolder | undefined,
  folder = usualFolder,
): Promise<void> {
  await host.run`sh -c ${breakScript} break-lock ${folder} ${holder?.token ?? ''}`;
}

/**
 * Sends a heartbeat.
 *
 * @returns false where the lock has been taken away
 */
export async function beatLock(host: Writer, own: LockHolder, folder = usualFolder): Promise<boolean> {
  const output = await host.run({ allow: [0, 1, 2] })`
    cd ${folder} && grep -qF ${own.token} lock/holder && touch lock/holder`;
  return output.ok;
}

/**
 * Releases the lock, and records that a run ended here.
 *
 * @param options `closing`: the last line of the host's journal
 */
export async function releaseLock(
  host: Writer,
  own: LockHolder,
  { folder = usualFolder, closing }: { readonly folder?: string; readonly closing?: string | undefined } = {},
): Promise<void> {
  // The lock is released in any case.
  await host.run`(eval ${closing === undefined ? ':' : appending(closing)}) || :; sh -c ${releaseScript} release-lock ${folder} ${own.token}`;
}
