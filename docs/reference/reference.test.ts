import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { withCommands } from './commands-table.ts';
import type { JsonSchema } from './json-schema.ts';
import { kindsPage } from './kinds-page.ts';
import { schemaText, tablePages, withTables } from './reference.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const inventory = (name: string) => parse(read(`inventory/${name}.yaml`));

const stale = (file: string) => `${file} does not match the schemas: run npm run reference`;

test('inventory/schema.json is current', () => {
  expect(read('inventory/schema.json'), stale('inventory/schema.json')).toBe(schemaText());
});

const pages = tablePages.map((name) => read(`docs/${name}`));

test('the tables of the configuration are current', () => {
  expect(pages, stale(tablePages.join())).toEqual(withTables(pages));
});

test('docs/kinds.md is current', () => {
  expect(read('docs/kinds.md'), stale('docs/kinds.md')).toBe(kindsPage());
});

test('docs/commands.md is current', () => {
  const page = read('docs/commands.md');
  expect(page, 'docs/commands.md is not current: run npm run reference').toBe(withCommands(page));
  expect(() => withCommands('# Commands\n')).toThrow('no place for the table of commands');
});

test('a key in no table, or a table with an unknown key, is an error', () => {
  const changed = (to: string) => pages.map((page) => page.replace('generation network -->', to));
  expect(() => withTables(changed('network -->'))).toThrow('in no table: variables: generation');
  expect(() => withTables(changed('generation netwrk -->'))).toThrow(
    'the table of variables names netwrk, which does not exist',
  );
});

test('every key has a description', () => {
  const undescribed = (schema: JsonSchema, path: string): string[] =>
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      if (typeof property !== 'object') return [];
      const at = path === '' ? name : `${path}.${name}`;
      return [...((property.description ?? '').length > 2 ? [] : [at]), ...undescribed(property, at)];
    });
  const schema = JSON.parse(schemaText());
  const { host, variables } = schema.definitions;
  expect([
    ...undescribed(schema, ''),
    ...undescribed(host, 'host'),
    ...undescribed(variables, 'vars'),
  ]).toEqual([]);
});

test('every pattern has a message', () => {
  const withoutMessage: string[] = [];
  JSON.parse(schemaText(), (key, value) => {
    const isSchema = typeof value === 'object' && key !== 'propertyNames';
    if (isSchema && typeof value?.pattern === 'string' && !value.patternErrorMessage)
      withoutMessage.push(value.pattern);
    return value;
  });
  expect(withoutMessage).toEqual([]);
});

describe('an editor', () => {
  const ajv = new Ajv({ allErrors: true, keywords: ['patternErrorMessage'] });
  const validate = ajv.compile(JSON.parse(schemaText()));
  const faults = (value: unknown): readonly ErrorObject[] => (validate(value) ? [] : (validate.errors ?? []));
  /** Pointers to all placeholders. */
  const open = (value: unknown, pointer: string): string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => open(inner, `${pointer}/${key}`))
      : String(value).includes('<FILL')
        ? [pointer]
        : [];

  test('accepts the lab', () => {
    expect(faults(inventory('lab'))).toEqual([]);
  });

  test.each(['mainnet', 'testnet'])('flags each placeholder and nothing else in %s', (name) => {
    const found = faults(inventory(name)).map(({ instancePath }) => instancePath);
    expect([...new Set(found)].sort()).toEqual(open(inventory(name), '').sort());
  });

  test('accepts the examples of the reference', () => {
    const examples = [...pages.join('').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)]
      .map(([, text = '']) => parse(text))
      .filter((example) => example !== null);
    expect(examples.length).toBeGreaterThan(1);
    const { groups } = inventory('lab');
    expect(examples.flatMap((example) => faults({ groups, ...example }))).toEqual([]);
  });

  test('accepts a reference to a secret in every text', () => {
    const lab = inventory('lab');
    Object.assign(lab.vars.network, { l1_rpc_url: 'https://l1.example/{{ secret:key }}' });
    Object.assign(lab.vars, { disk_alert: { webhook: 'env:WEBHOOK' }, region: 'cmd:pass show region' });
    expect(faults(lab)).toEqual([]);
  });

  type Change = (lab: ReturnType<typeof inventory>) => void;
  test.each<[string, Change, string]>([
    ['an unknown key', (lab) => Object.assign(lab, { hosts: {} }), ' hosts'],
    ['a misspelt variable', (lab) => Object.assign(lab.vars, { netwrk: {} }), '/vars netwrk'],
    [
      'a misspelt variable deeper down',
      (lab) => Object.assign(lab.vars, { ports: { rpc: 1 } }),
      '/vars/ports rpc',
    ],
    [
      'a misspelt variable of a host',
      (lab) => Object.assign(lab.groups.rpc['rpc-1'], { vars: { port: {} } }),
      '/groups/rpc/rpc-1/vars port',
    ],
    [
      'a misspelt key of a host',
      (lab) => Object.assign(lab.groups.rpc['rpc-1'], { adress: 'a' }),
      '/groups/rpc/rpc-1 adress',
    ],
    [
      'a host without an address',
      (lab) => delete lab.groups.rpc['rpc-1'].address,
      '/groups/rpc/rpc-1 address',
    ],
    [
      'a wrong type',
      (lab) => Object.assign(lab.vars.network, { chain_id: '55555' }),
      '/vars/network/chain_id integer',
    ],
    [
      'an unknown value',
      (lab) => Object.assign(lab.vars.network, { kind: 'dev' }),
      '/vars/network/kind enum',
    ],
    [
      "an empty group of one's own",
      (lab) => Object.assign(lab.groups, { rcp: {} }),
      '/groups/rcp minProperties',
    ],
    [
      'an unknown variable of a group',
      (lab) => Object.assign(lab.groups.rpc, { vars: { ports: { rpc_htpp: 1 } } }),
      '/groups/rpc/vars/ports rpc_htpp',
    ],
    [
      'children that are no list',
      (lab) => Object.assign(lab.groups.rpc, { children: 'asia' }),
      '/groups/rpc/children array',
    ],
    ['a group without hosts', (lab) => Object.assign(lab.groups, { rpc: {} }), '/groups/rpc minProperties'],
    [
      'a second database host',
      (lab) => Object.assign(lab.groups.database, { 'db-2': { address: '10.0.0.2' } }),
      '/groups/database maxProperties',
    ],
    [
      'a port out of range',
      (lab) => Object.assign(lab.vars, { ports: { rpc_http: 65536 } }),
      '/vars/ports/rpc_http maximum',
    ],
    [
      'a password in plain sight',
      (lab) => Object.assign(lab.vars.credentials.pool, { password: 'hunter2' }),
      '/vars/credentials/pool/password pattern',
    ],
    [
      'a misspelt key of the node',
      (lab) => Object.assign(lab.vars, { node_config: { RPC: { ReadTimeOut: '5s' }, '+New': { a: 1 } } }),
      '/vars/node_config/RPC ReadTimeOut',
    ],
    [
      'a number as text for the prover',
      (lab) => Object.assign(lab.vars, { prover_config: { dbMTCacheSize: '5', '+new': 1 } }),
      '/vars/prover_config/dbMTCacheSize integer',
    ],
    [
      'a port of the node out of range',
      (lab) => Object.assign(lab.vars, { node_config: { RPC: { Port: 65536 } } }),
      '/vars/node_config/RPC/Port maximum',
    ],
    [
      'a word that the node does not know',
      (lab) => Object.assign(lab.vars, { node_config: { Log: { Environment: 'prod' } } }),
      '/vars/node_config/Log/Environment enum',
    ],
    [
      'a number that becomes 0',
      (lab) =>
        Object.assign(lab.vars, {
          node_config: { State: { Batch: { Constraints: { MaxSteps: 2 ** 32 } } } },
        }),
      '/vars/node_config/State/Batch/Constraints/MaxSteps maximum',
    ],
    [
      'a list of another kind',
      (lab) => Object.assign(lab.vars, { node_config: { Log: { Outputs: [1] } } }),
      '/vars/node_config/Log/Outputs/0 string',
    ],
    [
      'a new key with an invalid name',
      (lab) => Object.assign(lab.vars, { node_config: { '+a.b': 1 } }),
      '/vars/node_config +a.b',
    ],
    [
      'a new section of the prover',
      (lab) => Object.assign(lab.vars, { prover_config: { '+new': { a: 1 } } }),
      '/vars/prover_config/+new not',
    ],
    [
      'a key of the prover that comes from elsewhere in one generation',
      (lab) => Object.assign(lab.vars, { prover_config: { aggregatorClientHost: 'x' } }),
      '/vars/prover_config aggregatorClientHost',
    ],
    [
      'an image in capitals',
      (lab) => Object.assign(lab.vars.images, { node: 'r:5000/Node' }),
      '/vars/images/node pattern',
    ],
    [
      'a size without its unit',
      (lab) => Object.assign(lab.vars.state_db, { work_mem: '32' }),
      '/vars/state_db/work_mem pattern',
    ],
  ])('flags %s', (_, change, expected) => {
    const lab = inventory('lab');
    change(lab);
    // A condition is a fault beside the one that it holds.
    const real = faults(lab).filter(({ keyword }) => keyword !== 'if');
    const found = real.map(({ instancePath, keyword, params }) => {
      const what = params.additionalProperty ?? params.missingProperty ?? params.type ?? keyword;
      return `${instancePath} ${what}`;
    });
    expect(found).toEqual([expected]);
  });
});
