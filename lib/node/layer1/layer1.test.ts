import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import layer1 from '../../../roles/layer1.ts';
import sync from '../../../roles/sync.ts';
import { describeUnmet, ok } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { renderHost } from '../render/render.ts';
import { accesses, listeningUnits } from '../server/firewall.ts';
import { readLayer1Status } from '../status/layer1.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { layer1Files } from './render.ts';

const several: Changes = [
  [['vars', 'network', 'l1_rpc_url'], undefined],
  [
    ['vars', 'network', 'l1_rpc_urls'],
    ['https://l1.example/v3/KEY-1?a=%20b', 'http://10.0.0.9:8545', 'https://l1.example/v3/KEY-2'],
  ],
];

const textOf = (content: string | { readonly text: string }) =>
  typeof content === 'string' ? content : content.text;

test('keys are in one file alone, and a provider has its name, its certificate and its address', async () => {
  const { vars } = await contextOf({ changes: several });
  const { main, others } = layer1Files(vars);
  const text = textOf(main.content);
  expect(text).not.toContain('KEY-');
  expect(text).toContain(
    '    server provider l1.example:443 init-addr libc,none resolvers system resolve-prefer ipv4 ssl verify required ca-file @system-ca sni str(l1.example) verifyhost l1.example\n',
  );
  expect(text).toContain('    server provider 10.0.0.9:8545\n');
  expect(text).toContain('setenv LAYER1_PROVIDERS "l1.example 10.0.0.9:8545 l1.example#2"\n');
  const paths = others.find(({ path }) => path.endsWith('/providers.map'));
  expect(textOf(paths?.content ?? '')).toBe('1 /v3/KEY-1?a=%20b\n2 /\n3 /v3/KEY-2\n');
  // A diff shows no key.
  expect(typeof paths?.content === 'object' && paths.content.mask('1 /v3/KEY-0')).not.toContain('KEY-0');
});

test('the nodes reach layer 1 by HAProxy on the Database+Sync server, each by its own way', async () => {
  const textsOf = async (group: 'database' | 'rpc', changes: Changes) => {
    const { files } = await renderHost(await contextOf({ group, changes }));
    const text = (name: string) => files.find((file) => file.name === name)?.content.text ?? '';
    return {
      url: /\[Etherman\]\nURL = "(.*)"/.exec(text('node.config.toml'))?.[1],
      compose: text('docker-compose.yml'),
    };
  };
  const database = await textsOf('database', several);
  expect(database.url).toBe('http://layer1:8547');
  expect(database.compose).toContain('    extra_hosts:\n');
  expect(database.compose).toContain('      - "layer1:host-gateway"\n');
  expect((await textsOf('rpc', several)).url).toBe('http://172.30.77.11:8547');
  // With one address nothing of it is there.
  const one = await textsOf('database', []);
  expect([one.url, one.compose.includes('extra_hosts')]).toEqual(['http://172.30.77.10:8546', false]);
});

const withReplica: Changes = [
  [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
  [['vars', 'replica'], { password: 'env:LAYER1_TEST_PASSWORD' }],
];

test('the port is for the RPC servers alone, and HAProxy does not start without the rules', async () => {
  const database = await contextOf({ changes: several });
  const rules = await accesses(database);
  expect(rules.find(({ name }) => name === 'LAYER1')).toEqual({
    name: 'LAYER1',
    ports: [{ protocol: 'tcp', published: '8547' }],
    sources: ['172.30.77.12', '172.30.77.13'],
  });
  expect(listeningUnits(database)).toContain('rpc-node-layer1.service');
  // A replica that was the server before serves the RPC servers until they have moved.
  const replica = await contextOf({ group: 'replica', changes: [...several, ...withReplica] });
  expect((await accesses(replica)).find(({ name }) => name === 'LAYER1')?.sources).toEqual([
    '172.30.77.12',
    '172.30.77.13',
  ]);
  const one = await contextOf({});
  expect((await accesses(one)).some(({ name }) => name === 'LAYER1')).toBe(false);
  expect(listeningUnits(one)).not.toContain('rpc-node-layer1.service');
});

test('with one address, and on a server that is another one now, HAProxy and the keys are removed', async () => {
  const left = 'no choice of layer 1 is left';
  const one = await contextOf({});
  expect(await layer1.resources(one)).toEqual([]);
  const afterSync = (await sync.resources(one)).at(-1);
  const replica = await contextOf({ group: 'replica', changes: [...several, ...withReplica] });
  const [onReplica, ...more] = await layer1.resources(replica);
  expect(more).toEqual([]);
  for (const resource of [afterSync, onReplica]) {
    expect(resource?.name).toBe(left);
    expect(await resource?.check(fakeHost([]))).toEqual(ok);
    const there = fakeHost([], { stat: async (path) => (path.includes('layer1') ? rootsFile : undefined) });
    const verdict = await resource?.check(there);
    expect(JSON.stringify(verdict)).toContain('rm -rf');
  }
});

process.env.LAYER1_TEST_PASSWORD = 'layer1.Pw~5';

const provider = (name: string, used: boolean, reason: string | null) => ({
  provider: name,
  used,
  usable: reason === null,
  reason,
  height: 1000,
});

async function statusOf(providers?: readonly object[]) {
  const { vars } = await contextOf({ changes: several });
  const answer = `HTTP/1.1 200 OK\n\n${JSON.stringify({ judged: true, configuration: 'x', providers })}`;
  return readLayer1Status(fakeHost(providers ? [[/probe/, answer]] : []), vars);
}

test('status names the providers that are out with their reason, and is healthy while one is used', async () => {
  const seen = await statusOf([
    provider('l1.example', false, 'limits requests (HTTP 429)'),
    provider('b.example', true, null),
  ]);
  expect(seen?.findings).toEqual([
    {
      is: 'layer1-out',
      about: 'l1.example',
      fault: false,
      says: 'l1.example: is out: limits requests (HTTP 429)',
    },
  ]);
  expect(seen?.layer1?.providers).toHaveLength(2);
  const none = await statusOf([provider('a', false, 'cannot be reached')]);
  expect(none?.findings.map(({ is, fault, says }) => [is, fault, says])).toEqual([
    ['layer1-away', true, 'layer 1: no provider can be used'],
    ['layer1-out', false, 'a: is out: cannot be reached'],
  ]);
  expect((await statusOf())?.findings.map(({ says }) => says)).toEqual([
    'rpc-node-layer1.service: HAProxy for layer 1 does not answer on port 8547: not found',
  ]);
});

test('another program on the port is named', async () => {
  const { vars } = await contextOf({ changes: several });
  const seen = await readLayer1Status(fakeHost([[/probe/, 'HTTP/1.1 404 Not Found\n\nno']]), vars);
  expect(seen?.findings.map(({ says }) => says)).toEqual([
    'rpc-node-layer1.service: port 8547 answers, but not HAProxy for layer 1',
  ]);
});

test('with one address nothing is asked', async () => {
  const { vars } = await contextOf({});
  expect(await readLayer1Status(fakeHost([]), vars)).toBeUndefined();
});

test('a deploy waits for a provider, and says why none can be used', async () => {
  const context = await contextOf({ changes: several });
  const resource = (await layer1.resources(context)).at(-1);
  const { hash } = layer1Files(context.vars);
  const check = async (configuration: string, used: boolean) => {
    const providers = [provider('l1.example', used, used ? null : 'cannot be reached')];
    const answer = `HTTP/1.1 200 OK\n\n${JSON.stringify({ judged: true, configuration, providers })}`;
    return (await resource?.check(fakeHost([[/probe/, answer]]))) ?? ok;
  };
  expect(await check(hash, true)).toEqual(ok);
  expect((await check('other', true)).is).toBe('unknown');
  expect(resource && describeUnmet(resource, await check(hash, false))).toContain(
    'l1.example: cannot be reached',
  );
});

test.each(['deploy', 'switch'])(
  '%s: a former Database+Sync server serves layer 1 until every RPC server has moved',
  (name) => {
    const text = readFileSync(new URL(`../../../playbooks/${name}.mjs`, import.meta.url), 'utf8');
    const plays = text.split(/\bplay\(/).slice(1);
    const ends = plays.findIndex((each) => each.includes("hosts: 'replica'") && each.includes("'layer1'"));
    expect(ends).toBeGreaterThan(plays.findLastIndex((each) => each.startsWith("'RPC servers'")));
    expect(plays[ends]).toContain("needs: ['RPC servers']");
  },
);
