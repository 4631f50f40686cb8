import type { Reader } from '../../engine/host/host.ts';
import {
  describeVerdict,
  expectation,
  type Resource,
  type Verdict,
  warning,
} from '../../engine/resource/resource.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { registryAnswers } from '../chain/reachable.ts';
import { apiOf, certificatesOf, namedRegistry } from '../images/registry.ts';
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
        check: (reader) => answersEngine(reader, name, url),
        hint: 'check images and registry in the inventory',
      }),
    ),
  );
}

/**
 * The host asks in place of the engine, with its certificates. Whether the engine's proxy reaches
 * the registry is shown by the pull alone.
 */
async function answersEngine(reader: Reader, name: string, url: string): Promise<Verdict> {
  const proxyOf = url.startsWith('http:') ? '{{.HTTPProxy}}' : '{{.HTTPSProxy}}';
  const [verdict, proxy] = await Promise.all([
    registryAnswers(reader, url, certificatesOf(name)),
    reader.$`systemctl is-active --quiet docker.service && docker info --format ${proxyOf}`,
  ]);
  if (verdict.is !== 'drift' || !proxy.ok || proxy.text() === '') return verdict;
  return warning(`${describeVerdict(verdict)}; Docker pulls through its proxy, which was not asked`);
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
