import type { Reader } from '../../engine/host/host.ts';
import { ensureContainerRuns, reachedBy } from '../../engine/resource/docker/compose-service.ts';
import {
  containerChange,
  describeVerdict,
  drift,
  expectation,
  ok,
  type Resource,
  refusalOf,
  refused,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { blockNumber, blockQuery } from '../chain/chain.ts';
import { newestBlockPair } from '../chain/newest-block.ts';
import { noOtherSynchronizer, noSynchronizer } from '../chain/single-sync.ts';
import { stateDatabase } from '../databases/databases.ts';
import { unknownWithoutAnswer } from '../databases/postgres.ts';
import type { Variables } from '../variables/variables.ts';
import { both } from '../version/version-change.ts';
import { deletionOf } from './deletion.ts';
import { findRewind, type Rewind } from './found.ts';
import { differencesOf, judgeRewind } from './plan.ts';
import { rewoundAt } from './record.ts';
import { startAgain, stopForRewind, stoppedAt } from './stopped.ts';
import { backupIsWhole, snapshotIsThere } from './way-back.ts';

const checkUrls =
  'check network.trusted_sequencer_url, network.l1_rpc_url and the chain ids in the inventory';

const isStopped =
  'sync is stopped, and this run deleted nothing. The next run starts sync: where the chains agree at once, or else after the deletion';

/** sync waits for executor and hash database, and then for a block of the sequencer. Seconds. */
const goesOnWithin = 600;

/**
 * The state database has only blocks that the trusted sequencer and layer 1 have, too. No
 * synchronizer runs on any host meanwhile. Then sync runs again.
 */
export function stateIsRewound(context: Context<Variables>): readonly Resource[] {
  return [mayBeRewound(context), synchronizerIsStopped(context), blocksAgree(context), ...goesOn(context)];
}

/**
 * Judges what is found. Nothing is stopped or deleted where the chains agree.
 *
 * @param without the verdict where the chains cannot be compared, by the reason
 */
async function judged(
  host: Reader,
  { vars }: Context<Variables>,
  judge: (rewind: Rewind) => Verdict | Promise<Verdict>,
  without: (why: string) => Verdict = () => unknownUntil('the chains can be compared'),
): Promise<Verdict> {
  const { container: name } = stateDatabase(vars);
  const [found, container] = await Promise.all([findRewind(host, vars), host.container(name)]);
  if (found.ok) return found.value ? judge(found.value) : ok;
  return container?.running ? without(found.error) : unknownWithoutAnswer(name, container, found.error);
}

function mayBeRewound(context: Context<Variables>): Resource {
  return expectation('the state database can be compared, and rewound where it differs', {
    check: (host) =>
      judged(
        host,
        context,
        async (rewind) => {
          const judgement = await judgedNow(host, rewind, context);
          return judgement.is === 'ok' ? snapshotIsThere(host, rewind, context) : judgement;
        },
        drift,
      ),
    hint: `${checkUrls}. This run stopped nothing and deleted nothing`,
  });
}

async function judgedNow(host: Reader, rewind: Rewind, context: Context<Variables>): Promise<Verdict> {
  const clock = await host.$`date +%s`;
  return judgeRewind(rewind, context, Number(clock.text()));
}

function synchronizerIsStopped(context: Context<Variables>): Resource {
  return {
    name: 'sync does not run during the rewind',
    changes: () => [containerChange('sync')],
    check: (host) =>
      judged(host, context, async () => {
        if (!(await host.container('sync'))?.running) return ok;
        return drift([{ what: 'sync', was: 'running', wanted: 'stopped' }], [stopForRewind]);
      }),
    everyHost: both(noOtherSynchronizer(context), backupIsWhole(context)),
  };
}

/** What is found after the stop may be more than what was judged before it, so it is judged again. */
function blocksAgree(context: Context<Variables>): Resource {
  return {
    name: 'the blocks of the state database are those of the trusted sequencer and of layer 1',
    changes: () => ['the rewind'],
    check: (host) =>
      judged(host, context, async (rewind) => {
        const seen = await judgedNow(host, rewind, context);
        const refusal = refusalOf(seen);
        if (!refusal) return drift(differencesOf(rewind, context), [deletionOf(rewind, context.vars)]);
        if ((await host.container('sync'))?.running) return seen;
        return refused(describeVerdict(seen), `${isStopped}. ${refusal.hint}`);
      }),
    hint: `${isStopped}. ${checkUrls}, and run again`,
    everyHost: both(noSynchronizer(context), backupIsWhole(context)),
  };
}

/**
 * After the deletion, or where a run has stopped sync and was killed, and the chains agree now. A
 * synchronizer that the operator has started and stopped since stays stopped.
 */
function goesOn(context: Context<Variables>): readonly Resource[] {
  return [
    {
      name: 'sync runs again after the rewind',
      changes: () => [containerChange('sync')],
      follows: [
        { what: containerChange('sync'), effect: 'is started', certain: true },
        { what: 'the rewind', effect: 'is started', certain: true },
      ],
      async check(host) {
        const [state, rewound, stopped] = await Promise.all([
          host.container('sync'),
          rewoundAt(host, context),
          stoppedAt(host),
        ]);
        if (!rewound.ok) return unknownUntil('state-db answers SQL');
        if (!state || state.running) return ok;
        const started = Date.parse(state.startedAt) / 1000;
        const isNewer = [rewound.value, stopped].every((time) => time === undefined || started >= time);
        return isNewer ? ok : drift([{ what: 'sync', was: state.status, wanted: 'running' }], [startAgain]);
      },
      async work(host) {
        await host.sleep(1);
        await ensureContainerRuns(host, 'sync', { restarts: 0 });
      },
      everyHost: noOtherSynchronizer(context),
    },
    reachedBy(
      'sync',
      'sync goes on with blocks of the trusted sequencer',
      (host) => hasGoneOn(host, context),
      {
        seconds: goesOnWithin,
        hint: 'see docker logs sync; status says what its last words mean',
      },
    ),
  ];
}

/** Whether sync has written a right block since the rewind, or has nothing to write. */
async function hasGoneOn(host: Reader, context: Context<Variables>): Promise<Verdict> {
  const { vars } = context;
  const { trusted_sequencer_url: url } = vars.network;
  const target = stateDatabase(vars);
  const [rewound, pair, head] = await Promise.all([
    rewoundAt(host, context),
    newestBlockPair(host, { target, query: blockQuery() }, url),
    blockNumber(host, url),
  ]);
  if (!rewound.ok || !pair.ok) return unknownUntil('state-db answers SQL');
  if (rewound.value === undefined) return ok;
  const { here, there } = pair.value ?? {};
  if (!here || !there?.ok || there.value?.hash !== here.hash)
    return unknownUntil('the newest block is one of the trusted sequencer');
  const isNew = here.written !== undefined && here.written >= rewound.value;
  return isNew || (head.ok && head.value <= here.block) ? ok : unknownUntil('sync writes a block');
}
