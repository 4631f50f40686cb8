import { dockerImage } from '../../engine/resource/docker/docker-image.ts';
import { drift, expectation, ok, type Resource, refused } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { genesisProblem } from '../chain/genesis-file.ts';
import { historiesAgree } from '../chain/layer1-history.ts';
import { askDownload } from '../chain/reachable.ts';
import { imagesAreSigned, type Signed } from '../images/image-signatures.ts';
import { genesisPath } from '../render/render.ts';
import type { Variables } from '../variables/variables.ts';
import { beforehand, goal } from './known.ts';
import { layer1Answers } from './layer1.ts';
import { registriesAnswer } from './registries.ts';
import { snapshotCanBeDownloaded } from './restore.ts';
import { sequencerAnswers } from './sequencer.ts';

/** A larger genesis file is looked at in its turn. Bytes. */
const longestGenesis = 16 * 1024 * 1024;

/**
 * Every address outside that this host needs answers. It does not need again what it has already
 * downloaded.
 */
export function addressesAnswer(context: Context<Variables>): Resource[] {
  const { host, vars, given } = context;
  const { node, prover, database } = vars.images;
  // It pulls the image of the database alone.
  if (host.groups.includes('replica'))
    return [...registriesAnswer(vars, [database]), ...signatures(context, ['database'])];
  return [
    sequencerAnswers(context),
    ...layer1Answers(context),
    genesisCanBeDownloaded(vars),
    ...registriesAnswer(vars, [node, prover, database]),
    ...signatures(context, ['node', 'prover', 'database']),
    ...(host.groups.includes('database')
      ? [
          ...historiesAgree(vars, vars.snapshot.replace_existing || given['to-time'] !== undefined),
          ...snapshotCanBeDownloaded(context),
        ]
      : []),
  ];
}

/** A host without curl is asked right before it pulls an image. An image that is there is not. */
function signatures({ vars }: Context<Variables>, names: readonly Signed[]): Resource[] {
  return names.flatMap((name) =>
    imagesAreSigned(vars, [name]).map((each) =>
      skipWhen(dockerImage(vars.images[name]), beforehand(each.name, each)),
    ),
  );
}

/**
 * Its content is looked at, too: one that is refused would be known only when the containers of
 * another version are stopped.
 */
function genesisCanBeDownloaded(vars: Variables): Resource {
  const { genesis } = vars.network;
  const hint = 'check network.genesis.url in the inventory';
  return skipWhen(
    goal(async (reader) => (await reader.sha256(genesisPath(vars))) === genesis.sha256),
    expectation('genesis file can be downloaded', {
      check: async (reader) => {
        const answer = await askDownload(reader, genesis.url, longestGenesis);
        if (!answer.ok) return drift(answer.error);
        // A host without curl and wget tries the connection only.
        if (answer.value === undefined || answer.value.length >= longestGenesis) return ok;
        const problem = genesisProblem(answer.value, vars);
        return problem ? refused(problem.message, problem.hint || `${hint}, and its sha256`) : ok;
      },
      hint,
    }),
  );
}
