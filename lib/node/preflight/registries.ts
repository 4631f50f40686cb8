import type { Reader } from '../../engine/host/host.ts';
import { expectation, type Resource } from '../../engine/resource/resource.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { registryAnswers } from '../chain/reachable.ts';
import { apiOf, namedRegistry } from '../images/registry.ts';
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
function registriesOf(vars: Variables, images: readonly string[]): Registry[] {
  const named = images.flatMap((image) => namedRegistry(image) ?? []);
  const all = new Set([...(vars.registry ? [vars.registry.address] : []), ...named]);
  return [...all].map((name) => ({
    name,
    url: `${apiOf(vars, name)}/`,
    images: images.filter((image) => image.startsWith(`${name}/`)),
  }));
}

/** Whether the host has all these images. */
async function imagesAreThere(reader: Reader, images: readonly string[]): Promise<boolean> {
  if (images.length === 0) return false;
  return (await reader.$`systemctl is-active --quiet docker.service && docker image inspect ${images}`).ok;
}
