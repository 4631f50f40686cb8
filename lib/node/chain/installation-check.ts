import type { Reader, Writer } from '../../engine/host/host.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import {
  checkedAgainAfter,
  drift,
  ok,
  undecided,
  unknownUntil,
  type Verdict,
  type Work,
  warning,
} from '../../engine/resource/resource.ts';
import { counted } from '../../engine/text/counted.ts';
import type { Variables } from '../variables/variables.ts';
import { type Answer, blockAt, blockNumber, executesCall } from './chain.ts';
import { askChainId } from './reachable.ts';

/** A newest block of this age or less proves that the synchronizer works. Seconds. */
const freshFor = 60;

/** How often to ask, and how long to wait in between. */
export type Attempts = Variables['verify'];

/** A program in a container has to give an answer to a question. It is asked again until then. */
export function answers(
  name: string,
  container: string,
  attempts: Attempts,
  ask: (host: Reader) => Promise<Answer<unknown>>,
): Work {
  const resource: Work = {
    name,
    expects: 'must',
    check: (host) => judge(host, container, ask(host), () => ok),
    work: async (host) => {
      await persistently(host, container, attempts, () => ask(host));
    },
  };
  return checkedAgainAfter(resource, container);
}

/** `eth_blockNumber` has to give a JSON-RPC result with a valid block number. */
export function givesBlockNumber(url: string, attempts: Attempts): Work {
  return answers(`eth_blockNumber on ${url} gives a block`, 'json-rpc', attempts, (host) =>
    blockNumber(host, url),
  );
}

/** An `eth_call` has to give a result: the prover of json-rpc works. */
export function executesCalls(url: string, attempts: Attempts): Work {
  return answers(`${url} executes eth_call`, 'json-rpc', attempts, (host) => executesCall(host, url));
}

/**
 * The newest block has to grow. One check cannot see growth, but a block of the last minute proves
 * it. Where the newest one is older, as while the node catches up from its snapshot, a run waits
 * for the next one, which is the proof, and check mode warns. No block can come while the trusted
 * sequencer is away: that is a warning.
 *
 * @param url of json-rpc on the host
 * @param sequencer URL of the trusted sequencer
 */
export function blockGrows(url: string, sequencer: string, attempts: Attempts): Work {
  const resource: Work = {
    name: `the newest block on ${url} grows`,
    expects: 'must',
    provesItself: true,
    check: (host) =>
      judge(host, 'json-rpc', newestBlock(host, url), async ({ number, age }) => {
        if (age <= freshFor) return ok;
        const old = `block ${number} is ${age} s old`;
        const trusted = await askChainId(host, sequencer);
        if (!trusted.ok) return warning(`${old}, and no newer one can come: ${trusted.error}`);
        return undecided(`${old}, and whether it grows takes two checks`);
      }),
    work: async (host) => {
      const first = await persistently(host, 'json-rpc', attempts, () => newestBlock(host, url));
      await pause(host, attempts.pause_seconds);
      await persistently(host, 'json-rpc', attempts, async () => {
        const next = await newestBlock(host, url);
        if (!next.ok || next.value.number > first.number) return next;
        return { ok: false, error: `the newest block is ${first.number} and does not grow` };
      });
    },
  };
  return checkedAgainAfter(resource, 'json-rpc');
}

/** `age` is by the host's own clock. Seconds. */
async function newestBlock(host: Reader, url: string): Promise<Answer<{ number: number; age: number }>> {
  const [block, clock] = await Promise.all([blockAt(host, url, 'latest'), host.$`date +%s`]);
  if (!block.ok) return block;
  if (!block.value) return { ok: false, error: 'eth_getBlockByNumber gives no newest block' };
  return { ok: true, value: { number: block.value.block, age: Number(clock.text()) - block.value.made } };
}

/** Unknown until the container runs; from then on whatever is wrong with its answer is drift. */
async function judge<T>(
  host: Reader,
  container: string,
  asked: Promise<Answer<T>>,
  verdict: (value: T) => Verdict | Promise<Verdict>,
) {
  const [state, answer] = await Promise.all([host.container(container), asked]);
  if (!state?.running) return unknownUntil(`${container} is running`);
  return answer.ok ? verdict(answer.value) : drift(answer.error);
}

/**
 * Asks until there is an answer.
 *
 * @throws the last error; where the container does not run, with the end of its log
 */
async function persistently<T>(
  host: Writer,
  container: string,
  { attempts, pause_seconds }: Attempts,
  ask: () => Promise<Answer<T>>,
): Promise<T> {
  const started = performance.now();
  for (let asked = 1; ; asked += 1) {
    const answer = await ask();
    if (answer.ok) return answer.value;
    host.progress({ what: answer.error });
    if (asked >= attempts) {
      await ensureContainerRuns(host, container);
      // An answer may take its whole patience each time.
      const seconds = Math.round((performance.now() - started) / 1000);
      const what = `${answer.error} (asked ${counted(attempts, 'time')} in ${seconds} s)`;
      throw new Failure(what, { hint: `see docker logs ${container}` });
    }
    await pause(host, pause_seconds);
  }
}
