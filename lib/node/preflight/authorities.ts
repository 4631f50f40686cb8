import { readFileSync } from 'node:fs';
import { shownAddress } from '../../engine/resource/network/http.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { choosesLayer1, layer1Urls } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import { genesisIsThere } from './genesis.ts';

const script = readFileSync(new URL('../../../templates/host/added-authorities.sh', import.meta.url), 'utf8');

/** Where Debian and Ubuntu have authorities: those that an operator adds, and those of the package. */
const folders = { added: '/usr/local/share/ca-certificates', own: '/usr/share/ca-certificates' };

/** A dead address must not hold up the rest. Seconds. */
const limit = 6;

/**
 * The certificates of the chains do not depend on an authority that was added to the host, which the
 * checks of this host trust, and its containers do not. It is a warning, as the image of the node may
 * have it. Where the genesis file is in place, the node has asked these addresses.
 *
 * @param where as `folders`
 */
export function chainsAreOfPublicAuthorities({ vars }: Context<Variables>, where = folders): Resource {
  // Several addresses of layer 1 are asked by HAProxy on the host.
  const urls = [vars.network.trusted_sequencer_url, ...(choosesLayer1(vars) ? [] : layer1Urls(vars))];
  const encrypted = [...new Set(urls)].filter((url) => /^https:/i.test(url));
  const resource = expectation('containers know the authorities of the chains', {
    severity: 'should',
    check: async (reader) => {
      const answers = await Promise.all(
        encrypted.map(
          (url) =>
            reader.$({ timeoutSeconds: limit + 2 })`
              printf '%s\\n' ${url} | sh -c ${script} added-authorities ${where.added} ${where.own} ${limit}`,
        ),
      );
      const added = encrypted.filter((_, at) => answers[at]?.text() === 'added').map(shownAddress);
      if (added.length === 0) return ok;
      return drift(
        `${added.join(' and ')}: this server trusts the certificate by an authority in ${where.added} alone, which its containers do not have`,
      );
    },
    hint: 'unless images.node has that authority, sync and json-rpc end at each start: use an image that has it, or an address with a certificate of a public authority',
  });
  return skipWhen(genesisIsThere(vars), resource);
}
