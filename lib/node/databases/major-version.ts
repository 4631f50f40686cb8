import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The image of a database is of the version that made its data directory. Another one ends at its
 * start, when the container before it is gone. Images of PostgreSQL name their version in the
 * environment; one that does not is not judged.
 */
export function imageReadsData(vars: Variables, database: 'state-db' | 'pool-db'): Resource {
  const image = vars.images.database;
  const data = dataFolder(vars, database);
  return expectation(`${image} can read the data of ${database}`, {
    check: async (host) => {
      const [made, environment] = await Promise.all([
        host.read(`${data}/PG_VERSION`),
        host.$`docker image inspect --format ${'{{range .Config.Env}}{{println .}}{{end}}'} ${image}`,
      ]);
      const has = made?.toString().trim();
      const wants = /^PG_MAJOR=(\d+)$/m.exec(environment.text())?.[1];
      if (has === undefined || wants === undefined || has === wants) return ok;
      return drift(`${data} was made by PostgreSQL ${has}, and the image is PostgreSQL ${wants}`);
    },
    hint: `name an image of the version of the data (images.database)`,
  });
}
