import pRetry from 'p-retry';
import type { Reader, Writer } from '../../engine/host/host.ts';
import { containerChange } from '../../engine/resource/change.ts';
import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import { drift, ok, type Resource, unknownUntil, type Verdict } from '../../engine/resource/resource.ts';
import { type Answer, blockNumber, newestBlock } from './chain.ts';

/** A newest block that was made so lately can only have come from a synchronizer that is at work. Seconds. */
const freshFor = 60;

/** How often to ask, and how long to wait between two times. */
export interface Attempts {
  readonly attempts: number;
  readonly pause_seconds: number;
}

/** `eth_blockNumber` has to give a JSON-RPC result with a valid block number. */
export function givesBlockNumber(url: string, attempts: Attempts): Resource {
  return {
    name: `eth_blockNumber on ${url} gives a block`,
    expects: 'must',
    waits: true,
    follows: [{ what: containerChange('json-rpc'), effect: 'is checked again', certain: true }],
    check: (host) => judge(host, blockNumber(host, url), () => ok),
    apply: async (host) => {
      await persistently(host, attempts, () => blockNumber(host, url));
    },
  };
}

/**
 * The newest block has to grow. One look cannot see growth, but a block made within the last minute can; where the newest one is
 * older, as while the node catches up with its snapshot, growth is waited for. Growth that was seen counts for the rest of the run.
 */
export function blockGrows(url: string, attempts: Attempts): Resource {
  let grew = false;
  return {
    name: `the newest block on ${url} grows`,
    expects: 'must',
    waits: true,
    follows: [{ what: containerChange('json-rpc'), effect: 'is checked again', certain: true }],
    check: (host) =>
      judge(host, newestBlock(host, url), ({ number, age }) =>
        grew || age <= freshFor ? ok : drift(`block ${number} is ${age} s old, and whether it grows takes two looks`),
      ),
    apply: async (host) => {
      const first = await persistently(host, attempts, () => newestBlock(host, url));
      await pause(host, attempts.pause_seconds);
      await persistently(host, attempts, async () => {
        const next = await newestBlock(host, url);
        if (!next.ok || next.value.number > first.number) return next;
        return { ok: false, error: `the newest block is ${first.number} and does not grow` };
      });
      grew = true;
    },
  };
}

/** Before json-rpc runs nothing can be told; from then on whatever is wrong with its answer is drift. */
async function judge<T>(host: Reader, asked: Promise<Answer<T>>, verdict: (value: T) => Verdict): Promise<Verdict> {
  const [state, answer] = await Promise.all([host.container('json-rpc'), asked]);
  if (!state?.running) return unknownUntil('json-rpc is running');
  return answer.ok ? verdict(answer.value) : drift(answer.error);
}

/** The server did not give what was asked for; it may yet. */
class NotYet extends Error {}

/** The server did not give what was asked for, however often it was asked. */
class NoAnswer extends Error {
  readonly hint = 'see docker logs json-rpc';
}

/** Asks again and again. @throws the last error, with json-rpc's last words where it does not even run */
async function persistently<T>(
  host: Writer,
  { attempts, pause_seconds }: Attempts,
  ask: () => Promise<Answer<T>>,
): Promise<T> {
  return pRetry(
    async () => {
      const answer = await ask();
      if (answer.ok) return answer.value;
      throw new NotYet(answer.error);
    },
    {
      retries: attempts - 1,
      minTimeout: 0,
      shouldRetry: ({ error }) => error instanceof NotYet,
      onFailedAttempt: async ({ retriesLeft, error }) => {
        if (retriesLeft === 0) await ensureContainerRuns(host, 'json-rpc');
        host.progress({ what: error.message });
        if (retriesLeft > 0) await pause(host, pause_seconds);
      },
    },
  ).catch((error: unknown) => {
    if (!(error instanceof NotYet)) throw error;
    throw new NoAnswer(`${error.message} (asked ${attempts} times, every ${pause_seconds} s)`);
  });
}
