import type { Variables } from '../variables/variables.ts';

const defaultRegistry = 'docker.io';

/** Where an image is. */
export interface ImageSource {
  /** As its name has it: `registry.example:5000`. */
  readonly registry: string;
  /** Of the registry's API, without a slash at the end: `https://registry.example:5000/v2`. */
  readonly api: string;
  /** The path of the image there: `owner/name`. */
  readonly repository: string;
  /** `sha256:…`, if the name has a digest. */
  readonly digest: string | undefined;
}

/**
 * The registry that an image's name contains.
 *
 * @returns undefined for an image of the engine's default registry
 */
export function namedRegistry(image: string): string | undefined {
  const [first = '', ...rest] = image.split('/');
  // The first part of an image's name is a registry, or a user of the default registry.
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? first : undefined;
}

/** The address of a registry's API, without a slash at the end. */
export function apiOf({ registry }: Pick<Variables, 'registry'>, name: string): string {
  const scheme = registry?.insecure && registry.address === name ? 'http' : 'https';
  // Docker Hub has two names in image names, and its API has another.
  const host = [defaultRegistry, 'index.docker.io'].includes(name) ? 'registry-1.docker.io' : name;
  return `${scheme}://${host}/v2`;
}

/**
 * Where the engine has certificates for a registry: https://docs.docker.com/engine/security/certificates/
 *
 * @param name as image names have it
 */
export function certificatesOf(name: string): string {
  return `/etc/docker/certs.d/${name}`;
}

/** Where an image is, by its name. */
export function imageSource(vars: Pick<Variables, 'registry'>, image: string): ImageSource {
  const named = namedRegistry(image);
  const registry = named ?? defaultRegistry;
  const [path = '', digest] = (named === undefined ? image : image.slice(named.length + 1)).split('@');
  const repository = path.replace(/:[^/:]*$/, '');
  const isOfficial = registry.endsWith(defaultRegistry) && !repository.includes('/');
  return {
    registry,
    api: apiOf(vars, registry),
    repository: isOfficial ? `library/${repository}` : repository,
    digest,
  };
}
