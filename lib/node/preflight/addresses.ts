import { dockerImage } from '../../engine/resource/docker/docker-image.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { historiesAgree } from '../chain/layer1-history.ts';
import { imagesAreSigned, type Signed } from '../images/image-signatures.ts';
import type { Variables } from '../variables/variables.ts';
import { chainsAreOfPublicAuthorities } from './authorities.ts';
import { genesisCanBeDownloaded, layer1HasContract } from './genesis.ts';
import { beforehand } from './known.ts';
import { layer1Answers } from './layer1.ts';
import { registriesAnswer } from './registries.ts';
import { snapshotCanBeDownloaded } from './restore.ts';
import { sequencerAnswers } from './sequencer.ts';

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
    chainsAreOfPublicAuthorities(context),
    genesisCanBeDownloaded(vars),
    ...layer1HasContract(context),
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
