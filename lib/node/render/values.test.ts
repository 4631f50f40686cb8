import toml from '@iarna/toml';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { Secret } from '../../engine/secret/secret.ts';
import { tokenizeSql } from '../../engine/template/sql.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { variablesSchema } from '../variables/variables.ts';
import { renderHost } from './render.ts';

const { network, credentials, paths } = variablesSchema.shape;
const isTaken = (schema: { safeParse(value: unknown): { success: boolean } }) => (value: unknown) =>
  schema.safeParse(value).success;

/** Characters with a special meaning in files, shells and URLs. */
const biting = [..."/?#&%'$!()*+,;=:@~aZ0", '%41', '%22', '%0A', '$$', '$HOME', '#{', '--'];
const address = fc
  .string({ unit: fc.constantFrom(...biting), maxLength: 30 })
  .map((text) => `http://host.example/${text}`)
  .filter(isTaken(network.shape.l1_rpc_url));
const { state } = credentials.shape;
const word = fc.stringMatching(/^[\w.~-]{1,63}$/);
const login = fc.record({
  user: word.filter(isTaken(state.shape.user)),
  password: fc.stringMatching(/^[\w.~-]{1,70}$/).map((text) => new Secret(`secret.${text}`)),
  database: word.filter(isTaken(state.shape.database)),
});
const folder = fc
  .stringMatching(/^(\/[a-z][\w.-]{0,8}){3}$/)
  .filter((deployment) => isTaken(paths)({ deployment }));

test('every value that the inventory accepts is unchanged in every rendered file', async () => {
  const { hosts } = await loadDeployment(await labDeployment());
  const [host, rpc] = hosts;
  if (!host || !rpc) throw new Error('no hosts');
  await fc.assert(
    fc.asyncProperty(
      address,
      address,
      login,
      login,
      login,
      folder,
      async (l1, sequencer, state, pool, prover, path) => {
        const vars = {
          ...host.vars,
          network: { ...host.vars.network, l1_rpc_url: l1, trusted_sequencer_url: sequencer },
          credentials: { state, pool, prover },
          paths: { ...host.vars.paths, deployment: path },
        };
        const { files } = await renderHost({ host, vars, hosts });
        const text = (name: string) => files.find((file) => file.name === name)?.content.text ?? '';

        const databaseKeys = (one: typeof state) => ({
          User: one.user,
          Password: one.password.reveal(),
          Name: one.database,
        });
        expect(toml.parse(text('node.config.toml'))).toMatchObject({
          Synchronizer: { TrustedSequencerURL: sequencer },
          RPC: { SequencerNodeURI: sequencer },
          Etherman: { URL: l1 },
          State: { DB: databaseKeys(state) },
          Pool: { DB: databaseKeys(pool) },
        });
        expect(toml.parse(text('snapshot_restore.toml'))).toMatchObject({
          State: { DB: databaseKeys(state) },
          HashDB: databaseKeys(prover),
        });

        const url = new URL(JSON.parse(text('prover.config.json')).databaseURL);
        expect([url.username, url.password, url.pathname]).toEqual([
          prover.user,
          prover.password.reveal(),
          `/${prover.database}`,
        ]);

        const { services } = parseYaml(text('docker-compose.yml'), { version: '1.1' });
        const environment = (one: typeof state) => ({
          POSTGRES_USER: one.user,
          POSTGRES_PASSWORD: one.password.reveal(),
          POSTGRES_DB: one.database,
        });
        expect(services['state-db'].environment).toEqual(environment(state));
        expect(services['pool-db'].environment).toEqual(environment(pool));
        expect(services.sync.volumes[0]).toBe(`${path}/node.config.toml:/app/config.toml:ro`);

        const sql = tokenizeSql(text('init_prover_db.sql'));
        expect(new Set(sql.flatMap(({ kind, value }) => (kind === 'identifier' ? value : [])))).toEqual(
          new Set([prover.database, prover.user]),
        );
        expect(sql.flatMap(({ kind, value }) => (kind === 'literal' ? value : []))).toEqual([
          prover.password.reveal(),
        ]);
      },
    ),
    { numRuns: 25 },
  );
});
