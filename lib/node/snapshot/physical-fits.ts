import { drift, expectation, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { knownStateMigrations } from '../databases/migrations.ts';
import { versionOf } from '../variables/generation.ts';
import type { PhysicalManifest } from '../variables/manifest.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The server can use the files of a physical snapshot: they are of its architecture, and the
 * version of the node knows their migrations. Both are known before anything is there.
 */
export function serverReadsSnapshot(
  { facts, vars }: Context<Variables>,
  manifest: PhysicalManifest,
): Resource {
  return expectation(`files of the snapshot of ${manifest.date} fit this server`, {
    check: async () => {
      if (manifest.architecture !== facts.architecture)
        return drift(
          `they were made on ${manifest.architecture}, and the server is ${facts.architecture}: no other architecture reads them`,
        );
      const known = knownStateMigrations(vars);
      const unknown = known && manifest.migrations.filter((name) => !known.includes(name));
      return unknown?.length
        ? drift(
            `their state database has ${unknown.slice(0, 3).join(', ')}, which node ${versionOf(vars.images.node)} does not know`,
          )
        : ok;
    },
    hint: 'take one from a deployment like this one, or start from the archives of the specification',
  });
}

/** In a manifest, and of an image: that of Alpine Linux. */
const withoutVersion = 'none';

const library = (version: string) =>
  version === withoutVersion ? 'a C library without a version' : `version ${version} of the C library`;

/**
 * The image sorts text by the rules of the C library that made the indexes of a physical
 * snapshot: with other ones they would miss rows.
 */
export function imageSortsAsSnapshot(
  { images }: Variables,
  { collation, image: theirs }: PhysicalManifest,
): Resource {
  const image = images.database;
  return expectation(`${image} sorts text as the snapshot does`, {
    check: async (host) => {
      if (collation === null) return ok;
      const [there, answer] = await Promise.all([
        host.$`docker image inspect --format ${'{{.Id}}'} ${image}`,
        host.$({
          timeoutSeconds: 60,
        })`docker run --rm --pull never --network none --entrypoint getconf ${image} GNU_LIBC_VERSION`,
      ]);
      if (!there.ok) return unknownUntil(`image ${image} is there`);
      // Docker itself failed, and not the program in the image.
      if (answer.timedOut || answer.exitCode === 125) return unknownUntil(`a container of ${image} runs`);
      const own = answer.text().split(' ')[1] ?? withoutVersion;
      return own === collation
        ? ok
        : drift(
            `the indexes of the snapshot are made by ${library(collation)}, and the image has ${library(own)}: they would miss rows`,
          );
    },
    hint: `name the image that the snapshot was made with${theirs.includes('@') ? `, ${theirs}` : ' by its digest'} (images.database), or take one with this image`,
  });
}
