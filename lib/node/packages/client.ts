import type { Reader } from '../../engine/host/host.ts';
import { file } from '../../engine/resource/file/file.ts';
import { drift, expectation, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { okWhen } from '../../engine/resource/skip-when.ts';
import { candidateVersions, type Packages, packages } from '../../engine/resource/system/packages.ts';
import { postgresVersion } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * Distributions with a client of the server's major version. For others PostgreSQL's own package
 * repository (PGDG) has it.
 */
const clientInDistribution = ['bookworm'];

const client = `postgresql-client-${postgresVersion}`;

/** The signing key of PGDG, from a package of the distribution, which is verified. */
const repositoryKey = '/usr/share/postgresql-common/pgdg/apt.postgresql.org.gpg';

const hasClient = ({ facts }: Context<Variables>) =>
  clientInDistribution.includes(facts.distribution.codename);

/** Programs for the operator and the later roles, as far as the distribution has them. */
export function toolPackages(context: Context<Variables>): Packages {
  return packages('ca-certificates', 'curl', 'tar', ...(hasClient(context) ? [client] : []));
}

const repositoryFile = '/etc/apt/sources.list.d/pgdg.sources';

const repository = (uri: string, suite: string) => `Types: deb
URIs: ${uri}
Suites: ${suite}
Components: main
Signed-By: ${repositoryKey}
`;

/** PostgreSQL's client from PGDG, where the distribution has none of the server's version. */
export function clientOfRepository(context: Context<Variables>): Resource[] {
  if (hasClient(context)) return [];
  const suite = `${context.facts.distribution.codename}-pgdg`;
  const others = { check: async (host: Reader) => ((await isFromOthers(host, suite)) ? ok : drift([])) };
  return [
    okWhen(others, packages('postgresql-common')),
    okWhen(others, file(repositoryFile).content(repository(context.vars.postgresql_repository, suite))),
    packages(client),
  ];
}

/**
 * Whether the client is there, or apt gets it from a source that is not ours. Of two sources for
 * the same suite with different keys apt accepts neither, and ends with everything it is asked.
 */
async function isFromOthers(host: Reader, suite: string): Promise<boolean> {
  const [text, there] = await Promise.all([host.read(repositoryFile), host.package(client)]);
  const [, uri = '', ownSuite = ''] = /^URIs: (.*)\nSuites: (.*)$/m.exec(text?.toString() ?? '') ?? [];
  if (text?.toString() === repository(uri, ownSuite)) return false;
  if (there.installed) return true;
  // apt takes a second for these.
  const [candidates, fetched] = await Promise.all([
    candidateVersions(host, [client]),
    // Also of a source whose lists were never fetched. It only prints.
    host.$`apt-get --print-uris update`,
  ]);
  return candidates.has(client) || fetched.stdout.includes(`/dists/${suite}/`);
}

/**
 * PostgreSQL's programs are of the server's version. Several versions may be installed side by
 * side: the default one counts.
 */
export function clientHasItsVersion(): Resource {
  const programs = ['psql', 'pg_dump', 'pg_restore'];
  return expectation(`${programs.join(', ')} are version ${postgresVersion}`, {
    check: async (host) => {
      const answers = await Promise.all(programs.map((program) => host.$`${program} --version`));
      if (answers.some(({ exitCode }) => exitCode === 127)) {
        return unknownUntil(`${client} is installed`);
      }
      const others = answers.filter(({ stdout }) => majorVersion(stdout) !== postgresVersion);
      return others.length === 0
        ? ok
        : drift(others.map((answer) => answer.text() || answer.stderr.trim()).join('; '));
    },
    hint: `remove the other version's postgresql-client package, or make ${postgresVersion} the default: see pg_wrapper(1)`,
  });
}

/**
 * @param answer such as `psql (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)`
 */
function majorVersion(answer: string): number {
  return Number(/\(PostgreSQL\) (\d+)/.exec(answer)?.[1]);
}
