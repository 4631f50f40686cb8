import type { Reader, Writer } from '../../host/host.ts';
import { Failure } from '../../problem/problem.ts';
import { describeVerdict, type Verdict, type Work } from '../resource.ts';
import { pause } from './pause.ts';

export interface Patience {
  /** Maximum wait. Seconds. */
  readonly seconds: number;
  /** Between the first two checks; it grows to the triple. Seconds, default 1. */
  readonly pause?: number;
  /** What to do if it does not happen. */
  readonly hint?: string;
  /** Called together with each check: throws if waiting is pointless. */
  readonly giveUp?: (host: Writer) => Promise<void>;
}

/**
 * A state that comes by itself after earlier changes, such as a server that becomes ready. The run
 * waits for the state and changes nothing.
 *
 * @example eventually('port 8080 answers', async (host) => ((await host.$`curl -fs localhost:8080`).ok ? ok : drift('no answer')), { seconds: 60 })
 */
export function eventually(
  name: string,
  check: (host: Reader) => Promise<Verdict>,
  patience: Patience,
): Work {
  return {
    name,
    check,
    expects: 'must',
    async work(host) {
      const { pause: first = 1 } = patience;
      const until = performance.now() + patience.seconds * 1000;
      for (let seconds = first; ; seconds = Math.min(1.25 * seconds, 3 * first)) {
        // In one tick, so that both share a request.
        const [verdict, pointless] = await Promise.allSettled([check(host), patience.giveUp?.(host)]);
        if (verdict.status === 'rejected') throw verdict.reason;
        if (verdict.value.is === 'ok') return;
        if (pointless.status === 'rejected') throw pointless.reason;
        if (performance.now() >= until) {
          const what = `${name}: not within ${patience.seconds} s: ${describeVerdict(verdict.value)}`;
          throw new Failure(what, { hint: patience.hint });
        }
        host.progress({ what: `waiting: ${describeVerdict(verdict.value)}` });
        await pause(host, seconds);
      }
    },
  };
}
