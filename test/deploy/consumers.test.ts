import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import toml from '@iarna/toml';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { quote } from '../../lib/engine/host/quote.ts';
import { renderTemplate } from '../../lib/engine/template/template.ts';
import { deployedLab } from './deployed-lab.ts';
import { containersOf, type LabHost, labHosts, onHost } from './lab-host.ts';
import { folderForTest, labInventoryWith } from './lab-inventory.ts';
import { runPlaybook } from './playbook.ts';

const deployed = '/opt/rpc-node';
/** The network that all components of one host share. */
const network = 'rpc-node';

interface Database {
  readonly User: string;
  readonly Password: string;
  readonly Name: string;
  readonly Host: string;
  readonly Port: string;
}

interface ComposeService {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command: readonly string[];
}

const read = (host: LabHost, name: string) => onHost(host, `cat ${deployed}/${name}`);
const readToml = async <T>(host: LabHost, name: string) => toml.parse(await read(host, name)) as unknown as T;
const serviceOf = async (host: LabHost, name: string) =>
  (parseYaml(await read(host, 'docker-compose.yml')) as { services: Record<string, ComposeService> })
    .services[name] as ComposeService;

/** Built like in the node and the restore tool: without escaping. */
const urlOf = ({ User, Password, Name, Host, Port }: Database) =>
  `postgresql://${User}:${Password}@${Host}:${Port}/${Name}`;
const proverUrl = async (host: LabHost) =>
  (JSON.parse(await read(host, 'prover.config.json')) as { databaseURL: string }).databaseURL;

const psql = 'psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1';

/**
 * Runs a shell script with PostgreSQL's client in a container of a network, or on the host itself
 * without one.
 */
async function runFrom(host: LabHost, from: string | undefined, script: string): Promise<string[]> {
  const { image } = await serviceOf(host, 'pool-db');
  const shell =
    from === undefined ? 'sh -e' : `docker run --rm --interactive --network ${from} ${quote(image)} sh -e`;
  return (await onHost(host, `${shell} <<'END OF SCRIPT'\n${script}\nEND OF SCRIPT`)).split('\n');
}

const sql = (host: LabHost, from: string | undefined, url: string, statements: string) =>
  runFrom(host, from, `${psql} ${quote(url)} <<'SQL'\n${statements}\nSQL`);

beforeAll(deployedLab);

describe('the prover user', () => {
  /**
   * @param from the network in which the unchanged databaseURL finds the database
   */
  async function worksInItsDatabase(from: string): Promise<void> {
    const url = await proverUrl('db-1');
    const { username, pathname } = new URL(url);

    const owned = await sql(
      'db-1',
      from,
      url,
      `select 'user', current_user, current_setting('search_path');
       select 'database', datname, pg_get_userbyid(datdba) from pg_database where datname = current_database();
       select 'schema', nspname, pg_get_userbyid(nspowner) from pg_namespace where nspname in ('public', 'state') order by 2;
       select 'table', relname, pg_get_userbyid(relowner) from pg_class
         where relnamespace = 'state'::regnamespace and relkind = 'r' order by 2;
       select 'column', table_name, column_name, data_type, is_nullable from information_schema.columns
         where table_schema = 'state' order by table_name, ordinal_position;
       select 'key', conrelid::regclass, pg_get_constraintdef(oid) from pg_constraint
         where connamespace = 'state'::regnamespace order by 2;`,
    );
    expect(owned).toEqual([
      `user|${username}|state`,
      `database|${pathname.slice(1)}|${username}`,
      `schema|public|${username}`,
      `schema|state|${username}`,
      `table|nodes|${username}`,
      `table|program|${username}`,
      'column|nodes|hash|bytea|NO',
      'column|nodes|data|bytea|NO',
      'column|program|hash|bytea|NO',
      'column|program|data|bytea|NO',
      'key|nodes|PRIMARY KEY (hash)',
      'key|program|PRIMARY KEY (hash)',
    ]);

    const done = await sql(
      'db-1',
      from,
      url,
      `begin;
       create function created_unqualified() returns integer language sql as 'select 42';
       select pronamespace::regnamespace, created_unqualified() from pg_proc where proname = 'created_unqualified';
       insert into state.nodes values ('\\xc0ffee', '\\x01');
       update state.nodes set data = '\\x02' where hash = '\\xc0ffee';
       select 'nodes', data from state.nodes where hash = '\\xc0ffee';
       delete from state.nodes where hash = '\\xc0ffee';
       insert into state.program values ('\\xc0ffee', '\\x03');
       update state.program set data = '\\x04' where hash = '\\xc0ffee';
       select 'program', data from state.program where hash = '\\xc0ffee';
       delete from state.program where hash = '\\xc0ffee';
       rollback;`,
    );
    expect(done).toEqual(['state|42', 'nodes|\\x02', 'program|\\x04']);
  }

  test('owns and uses the objects of the init script on the first start of the database image', async () => {
    // A separate server on a separate network, from the rendered files, under the name in
    // databaseURL.
    const place = 'first-start';
    const remove = async (): Promise<void> => {
      await onHost('db-1', `docker rm -fv ${place} || true; docker network rm ${place} || true`);
    };
    onTestFinished(remove);
    await remove();
    const { image, environment, volumes, command } = await serviceOf('db-1', 'state-db');
    const { hostname } = new URL(await proverUrl('db-1'));
    const options = [
      ...['--detach', '--name', place, '--network', place, '--network-alias', hostname],
      ...volumes
        .filter((volume) => volume.includes('/docker-entrypoint-initdb.d/'))
        .flatMap((volume) => ['--volume', volume]),
      ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ];
    await onHost(
      'db-1',
      `docker network create ${place}
       docker run ${quote(options)} ${quote(image)} ${quote(command)}
       timeout 60 sh -c 'until docker exec ${place} pg_isready -qh 127.0.0.1; do sleep 0.5; done' || docker logs ${place}`,
    );
    await worksInItsDatabase(place);
  });

  test('owns and uses the same after the restore', () => worksInItsDatabase(network));
});

describe('the connection strings on a host work from where they are used, and with their passwords', () => {
  type Configured = { readonly State: { readonly DB: Database }; readonly Pool: { readonly DB: Database } };
  type Restored = { readonly State: { readonly DB: Database }; readonly HashDB: Database };

  async function connect(host: LabHost, from: string | undefined, urls: readonly string[]): Promise<void> {
    // Also with a wrong password: a server that asks for none would prove nothing.
    const tried = urls.flatMap((url) => [url, url.replace(/:[^:@/]+@/, ':wrong@')]);
    const answers = await runFrom(
      host,
      from,
      tried
        .map((url) => `${psql} ${quote(url)} -c 'select current_user, current_database()' 2>&1 | tail -n 1`)
        .join('\n'),
    );
    expect(answers).toEqual(
      urls.flatMap((url) => {
        const { username, pathname } = new URL(url);
        const refused = expect.stringContaining(`password authentication failed for user "${username}"`);
        return [`${username}|${pathname.slice(1)}`, refused];
      }),
    );
  }

  test.each(labHosts)('of node and prover, in the containers of %s', async (host) => {
    const { State, Pool } = await readToml<Configured>(host, 'node.config.toml');
    await connect(host, network, [urlOf(State.DB), urlOf(Pool.DB), await proverUrl(host)]);
  });

  test('of the restore tool, on the Database+Sync server itself', async () => {
    const { State, HashDB } = await readToml<Restored>('db-1', 'snapshot_restore.toml');
    await connect('db-1', undefined, [urlOf(State.DB), urlOf(HashDB)]);
  });
});

describe('the options of the rendered command are in effect', () => {
  test.each([
    ['state-db', 'db-1'],
    ['pool-db', 'db-1'],
    ['pool-db', 'rpc-1'],
    ['pool-db', 'rpc-2'],
  ] as const)('in %s of %s', async (container, host) => {
    const { environment, command } = await serviceOf(host, container);
    const [program, ...words] = command;
    expect(program).toBe('postgres');
    // The last one wins.
    const options = new Map<string, string>();
    for (let i = 0; i < words.length; i += 2) {
      const [flag, value = ''] = words.slice(i, i + 2);
      expect(['-N', '-c']).toContain(flag);
      const [name = '', wanted = ''] = flag === '-N' ? ['max_connections', value] : value.split('=');
      options.set(name, wanted);
    }
    expect(options.get('max_connections')).not.toBe('500');

    const rows = [...options].map(([name, value]) => `('${name}', '${value}')`).join(', ');
    const answer = await onHost(
      host,
      `docker exec -i ${container} psql -XqAt -U ${environment.POSTGRES_USER} -d ${environment.POSTGRES_DB} <<'SQL'
       select name, source, case when unit ~ 'B$' then pg_size_bytes(current_setting(name)) = pg_size_bytes(wanted)
                                 else current_setting(name)::numeric = wanted::numeric end
       from (values ${rows}) as rendered (name, wanted) left join pg_settings using (name)
SQL`,
    );
    expect(answer.split('\n').sort()).toEqual(
      [...options.keys()].sort().map((name) => `${name}|command line|t`),
    );
  });
});

describe('Compose', () => {
  /** The one of the two that a host has. */
  const compose = `compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }`;

  test.each(labHosts)('reads the file of %s, and takes nothing from its environment', async (host) => {
    const said = await onHost(
      host,
      `${compose}; cd /; compose --file ${deployed}/docker-compose.yml --project-directory ${deployed} config --services 2>&1`,
    );
    expect(said).not.toContain('variable is not set');
    const services = said.split('\n').filter((line) => !line.includes(' '));
    expect(services.sort()).toEqual([...containersOf[host]].sort());
  });

  // Inventory variables in a Compose file cannot have such values; the template engine handles
  // them.
  test('passes each value of a template to a container unchanged', async () => {
    const values = [
      `$HOME $\{HOME} $$HOME $$\{HOME} $\{NOT_SET:-other} $\{NOT_SET:?} $1 $`,
      `"double" 'single' \\backslash\\n \`back\``,
      '# no comment: - [a, b] {c: d} , & * ! | > % @',
      'three\nlines\n\tand a tab\r\n',
      'Grüße → 漢字 😀 \u00a0 \u2028 \ufeff',
      '  spaces at both ends  ',
      ...['yes', 'null', '~', '1e3', '0o17', '12:30:45', ''],
    ];
    const names = values.map((_, i) => `value_${i}`);
    const lines = (form: (name: string) => string) => names.map((name) => `      ${form(name)}\n`).join('');
    const template = `version: "3.5"
services:
  bites:
    container_name: bites
    image: "{{ image }}"
    network_mode: none
    environment:
${lines((name) => `${name}: "{{ ${name} }}"`)}    labels:
${lines((name) => `${name}: "{{ ${name} }}"`)}    command:
${lines((name) => `- "{{ ${name} }}"`)}`;
    const given = Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']));
    const { image } = await serviceOf('rpc-1', 'pool-db');
    const { text } = renderTemplate(template, { ...given, image }, { file: 'bites.yml', format: 'compose' });

    onTestFinished(async () => void (await onHost('rpc-1', 'docker rm -f bites; rm -rf /tmp/bites')));
    const inspected = await onHost(
      'rpc-1',
      `${compose}
       mkdir -p /tmp/bites
       cd /tmp/bites
       cat > docker-compose.yml <<'END OF FILE'
${text}
END OF FILE
       compose config --quiet
       compose up --no-start >/dev/null 2>&1 </dev/null
       docker inspect bites`,
    );
    const [{ Config }] = JSON.parse(inspected) as [
      { Config: { Env: string[]; Cmd: string[]; Labels: Record<string, string> } },
    ];
    expect(Config.Cmd).toEqual(values);
    expect(Config.Labels).toMatchObject(given);
    expect(Config.Env).toEqual(expect.arrayContaining(names.map((name) => `${name}=${given[name]}`)));
  });
});

describe('programs read the values of the inventory back unchanged', () => {
  const text = `"double" 'single' \\back\\n $HOME $\{HOME} $$ #no %41 & → 漢字 😀\n\ttwo lines`;
  const folder = '/tmp/reads-back';

  /**
   * Runs a component again, by its service of rpc-1 with a newly rendered configuration.
   *
   * @returns its output
   */
  async function says(component: string, config: string, values: Record<string, unknown>): Promise<string> {
    const out = await folderForTest();
    const inventory = await labInventoryWith(values);
    const run = await runPlaybook('render', '--inventory', inventory, '--limit', 'rpc-1', '--out', out);
    expect(run.exitCode, run.output).toBe(0);
    const rendered = await readFile(join(out, 'rpc-1', config), 'utf8');

    const { image, volumes, entrypoint = [], command } = await serviceOf('rpc-1', component);
    const mounts = volumes.map((volume) => volume.replace(`${deployed}/${config}:`, `${folder}/${config}:`));
    const options = [...mounts, `${folder}:/out`].flatMap((mount) => ['--volume', mount]);
    onTestFinished(async () => void (await onHost('rpc-1', `rm -rf ${folder}`)));
    return onHost(
      'rpc-1',
      `mkdir -p ${folder}
       cat > ${folder}/${config} <<'END OF FILE'
${rendered}
END OF FILE
       timeout 60 docker run --rm --network ${network} --entrypoint '' ${quote(options)} ${quote(image)} \\
         ${quote([...entrypoint, ...command])} 2>&1 || true`,
    );
  }

  test('by the node', async () => {
    // Nothing answers there, and the node then ends with the address in its last output.
    const address = `http://172.30.77.10:9/a%20b/%22%5C/$HOME/$$x?q='1'&r=%25%41;s=(t)*!&u=~,+@:#end`;
    const words = await says('json-rpc', 'node.config.toml', {
      'vars.network.l1_rpc_url': address,
      'vars.node_config.Log.Outputs': ['stderr', `/out/${text}`],
    });
    const last = words.split('\n').findLast((line) => line.startsWith('{')) ?? '{}';
    expect((JSON.parse(last) as { msg?: string }).msg).toContain(`Post "${address}": dial tcp `);
    // It also logs to a file of this name.
    expect(await onHost('rpc-1', `find ${folder} -name '*two lines' -printf %f`)).toBe(text);
  });

  test('by the prover', async () => {
    // This table does not exist, and the prover ends with its name in its last output.
    const words = await says('prover', 'prover.config.json', { 'vars.prover_config.dbNodesTableName': text });
    expect(words).toContain(`table ${text}: `);
  });
});
