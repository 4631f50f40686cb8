import type { Reader } from '../../engine/host/host.ts';
import { expectation, type Resource } from '../../engine/resource/resource.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { registryAnswers } from '../chain/reachable.ts';
import type { Variables } from '../variables/variables.ts';
import { goal } from './known.ts';

/**
 * The registries of images answer, as far as the host does not have these images.
 *
 * @param images those that the host needs
 */
export function registriesAnswer(vars: Variables, images: readonly string[]): Resource[] {
  return registriesOf(vars, images).map(({ name, url, images: ofRegistry }) =>
    skipWhen(
      goal((reader) => imagesAreThere(reader, ofRegistry)),
      expectation(`image registry ${name} answers`, {
        check: (reader) => registryAnswers(reader, url),
        hint: 'check images and registry in the inventory',
      }),
    ),
  );
}

interface Registry {
  readonly name: string;
  /** Of its API. */
  readonly url: string;
  readonly images: readonly string[];
}

/** The registries that image names contain; the engine's default registry is not checked. */
function registriesOf({ registry }: Variables, images: readonly string[]): Registry[] {
  const named = images.flatMap((image) => {
    const [first = '', ...rest] = image.split('/');
    // The first part of an image's name is a registry, or a user of the default registry.
    return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? [first] : [];
  });
  const all = new Set([...(registry ? [registry.address] : []), ...named]);
  return [...all].map((name) => {
    const scheme = registry?.insecure && registry.address === name ? 'http' : 'https';
    return {
      name,
      url: `${scheme}://${apiOf(name)}/v2/`,
      images: images.filter((image) => image.startsWith(`${name}/`)),
    };
  });
}

/** Docker Hub has two names in image names, and its API has another. */
function apiOf(registry: string): string {
  return ['docker.io', 'index.docker.io'].includes(registry) ? 'registry-1.docker.io' : registry;
}

async function imagesAreThere(reader: Reader, images: readonly string[]): Promise<boolean> {
  if (images.length === 0) return false;
  return (await reader.$`systemctl is-active --quiet docker.service && docker image inspect ${images}`).ok;
}
