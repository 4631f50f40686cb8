import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { shellSettings } from '../../../lib/engine/host/shell-settings.ts';
import { metricsProgram } from '../../../lib/node/monitor/textfiles.ts';
import { type Choice, startChoice, until } from './choice.ts';
import { type Provider, provider } from './provider.ts';

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('layer 1 by several providers', () => {
  let first: Provider;
  let second: Provider;
  let choice: Choice | undefined;
  const urls = () => [`http://127.0.0.1:${first.port}/v3/KEY-1?a=%20b`, `http://127.0.0.1:${second.port}/`];
  const short = (text: string) =>
    text.replace(
      'shortest_probation, longest_probation, soon = 60, 960, 600',
      'shortest_probation, longest_probation, soon = 6, 96, 600',
    );
  const start = async (edit: (text: string) => string = short, own: readonly string[] = urls()) => {
    choice = await startChoice(own, edit);
    return choice;
  };
  const who = async () => (await choice?.ask('who'))?.body.result;

  beforeEach(async () => {
    [first, second] = [provider(28_601), provider(28_602)];
    await Promise.all([first.start(), second.start()]);
  });
  afterEach(async () => {
    await choice?.kill();
    choice = undefined;
    await Promise.all([first.stop(), second.stop()]);
  });

  test('the first one is used, by its path and its host, and sees no other header of the node', async () => {
    await start();
    expect(await who()).toBe(28_601);
    const asked = first.seen.filter(({ method }) => method === 'who');
    expect(asked.map(({ path }) => path)).toEqual(['/v3/KEY-1?a=%20b']);
    expect(asked[0]?.headers.host).toBe('127.0.0.1:28601');
    expect(Object.keys(asked[0]?.headers ?? {}).sort()).toEqual(['content-length', 'host']);
    const state = await choice?.state();
    expect(state?.providers).toEqual([
      { provider: '127.0.0.1:28601', used: true, usable: true, reason: null, height: 10_000 },
      { provider: '127.0.0.1:28602', used: false, usable: true, reason: null, height: 10_000 },
    ]);
    expect(JSON.stringify(state) + choice?.log()).not.toContain('KEY-1');
  });

  test.each<[string, () => unknown, RegExp, number]>([
    [
      'lags',
      () => {
        second.height += 50;
      },
      /^50 blocks behind the best, at 10000$/,
      7,
    ],
    [
      'stalls',
      () => {
        first.silent = true;
      },
      /^does not answer$/,
      12,
    ],
    ['is down', () => first.stop(), /^cannot be reached$/, 8],
    [
      'answers HTTP 500',
      () => {
        first.refusal = { status: 500, body: '' };
      },
      /^answers HTTP 500$/,
      7,
    ],
  ])('one that %s is left', async (_, break_, reason, within) => {
    const { of, used } = await start();
    await break_();
    await until(async () => (await used()) === 1, 'the second one is used', within);
    expect((await of(0)).reason).toMatch(reason);
    expect(await who()).toBe(28_602);
  });

  test('one of another chain is left, and one with another history', async () => {
    const { of, used } = await start();
    first.chainId = 6;
    // It is asked again once a question has failed.
    first.refusal = { status: 502, body: '' };
    await until(async () => (await used()) === 1, 'the second one is used');
    first.refusal = undefined;
    await until(
      async () => /^is of the chain with id 6/.test((await of(0)).reason ?? ''),
      'the chain is named',
    );
    expect((await of(0)).reason).toBe('is of the chain with id 6, and has to be of the one with id 5');
    await choice?.kill();
    [first.chainId, second.forkedAt] = [5, 9_000];
    await start();
    expect((await of(1)).reason).toMatch(/^another hash at block 9728: 0xf0{15}, and 0xa0{15} is right$/);
    expect(await who()).toBe(28_601);
  });

  test('a height is not believed that the provider has no block for', async () => {
    const { of, used } = await start();
    second.claims = 20_000;
    await until(async () => (await of(1)).reason !== null, 'the second one is out');
    expect((await of(1)).reason).toBe('says that it is at block 20000, and does not have it');
    expect(await used()).toBe(0);
  });

  test('a height that the used one says, and has no block for, makes no request to the others wait', async () => {
    const { of, used, ask } = await start();
    first.claims = 20_000;
    expect((await ask('eth_blockNumber')).body.result).toBe('0x4e20');
    await until(async () => (await used()) === 1, 'the second one is used');
    expect((await of(0)).reason).toBe('says that it is at block 20000, and does not have it');
    const started = performance.now();
    expect(await who()).toBe(28_602);
    expect(performance.now() - started).toBeLessThan(5000);
    second.height += 5;
    expect((await ask('eth_blockNumber')).body.result).toBe('0x2715');
  });

  test.each([
    ['HTTP 429', 429, 'slow down', 'limits requests (HTTP 429)'],
    [
      'an error of a limit in HTTP 200',
      200,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"request rate exceeded"}}',
      'limits requests (error -32005: request rate exceeded)',
    ],
    [
      'error -32097',
      200,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32097,"message":""}}',
      'limits requests (error -32097)',
    ],
  ])(
    'one that answers %s is left at once, and the request is answered by another',
    async (_, status, body, reason) => {
      const { of, used, ask } = await start();
      first.refusal = { status, body, methods: ['who'] };
      const answer = await ask('who');
      expect([answer.status, answer.body.result]).toEqual([200, 28_602]);
      expect([(await of(0)).reason, await used()]).toEqual([reason, 1]);
      const asked = first.seen.length;
      await until(async () => second.seen.length > 4, 'the second one is asked');
      expect(first.seen.length).toBe(asked);
    },
  );

  test('a limit of results is an answer to the node, and no reason', async () => {
    const { of, ask } = await start();
    const message = 'query returned more than 10000 results. Try with this block range [0x1, 0x2].';
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32005, message } });
    first.refusal = { status: 200, body, methods: ['eth_getLogs'] };
    expect((await ask('eth_getLogs')).body.error?.message).toBe(message);
    expect((await of(0)).reason).toBe(null);
  });

  test('a request that no provider can serve takes none out for long, and its answer arrives', async () => {
    const { used, ask } = await start();
    const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"too hard"}}';
    for (const each of [first, second]) each.refusal = { status: 500, body, methods: ['hard'] };
    for (let tries = 0; tries < 8; tries += 1) {
      const { status } = await ask('hard');
      expect(status).toBe(500);
      expect(await used()).not.toBe(-1);
      expect((await ask('who')).status).toBe(200);
    }
  });

  test('a request in work at a provider that stalls is answered by another', async () => {
    const { ask } = await start();
    first.silent = true;
    const started = performance.now();
    const { body } = await ask('who');
    const seconds = (performance.now() - started) / 1000;
    expect(body.result).toBe(28_602);
    expect(seconds).toBeLessThan(14);
  });

  test('the node never gets an answer of a provider without the newest block that it was shown', async () => {
    const { ask } = await start();
    [first.height, second.height] = [10_005, 10_003];
    expect((await ask('eth_blockNumber')).body.result).toBe('0x2715');
    await first.stop();
    const started = performance.now();
    const answer = ask('who');
    setTimeout(() => {
      second.height = 10_005;
    }, 3000);
    expect((await answer).body.result).toBe(28_602);
    expect(performance.now() - started).toBeGreaterThan(2900);
  });

  test('with all out, the answer names each with its reason, and the first that answers is used', async () => {
    const { ask, used } = await start();
    await Promise.all([first.stop(), second.stop()]);
    await until(async () => (await used()) === -1, 'none is used');
    const { status, body } = await ask('who');
    expect([status, body.error?.code]).toEqual([503, -32_002]);
    expect(body.error?.message).toBe(
      'no provider of layer 1 can be used: 127.0.0.1:28601: cannot be reached; 127.0.0.1:28602: cannot be reached',
    );
    await second.start();
    await until(async () => (await used()) === 1, 'the second one is used', 8);
    expect(await who()).toBe(28_602);
  });

  test('one that comes back is used after a time, and later if it fails again', async () => {
    const { used, of } = await start();
    const outAndBack = async () => {
      await first.stop();
      await until(async () => (await used()) === 1, 'the second one is used');
      await first.start();
      await until(async () => (await of(0)).usable, 'the first one answers again');
      expect((await of(0)).reason).toBe('was out, coming back');
      return until(async () => (await used()) === 0, 'the first one is used again', 40);
    };
    const [once, twice] = [await outAndBack(), await outAndBack()];
    expect(twice).toBeGreaterThan(once + 4);
  });

  test('a certificate of another name, or that nobody trusts, is refused; the right one gets its name', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'layer1-tls-'));
    const made = (name: string, file = name) => {
      const [cert, key] = [join(folder, `${file}.pem`), join(folder, `${file}.key`)];
      const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${name} -addext subjectAltName=DNS:${name}`;
      execFileSync('openssl', [...words.split(' '), '-out', cert, '-keyout', key], { stdio: 'ignore' });
      return { cert, key };
    };
    const [right, other, unknown] = [made('localhost'), made('other.example'), made('localhost', 'unknown')];
    const secure = [right, other].map((tls, at) => provider(28_611 + at, tls));
    await Promise.all(secure.map((each) => each.start()));
    const trusted = join(folder, 'trusted.pem');
    await writeFile(trusted, readFileSync(right.cert, 'utf8') + readFileSync(other.cert, 'utf8'));
    const edit = (text: string) =>
      text
        .replaceAll('@system-ca', trusted)
        // No name server is here.
        .replaceAll(' resolvers system resolve-prefer ipv4', '');
    const own = secure.map(({ port }) => `https://localhost:${port}/`);
    await start((text) => edit(short(text)), own);
    const state = await choice?.state();
    expect(state?.providers.map(({ used, reason }) => [used, reason])).toEqual([
      [true, null],
      [false, 'cannot be reached'],
    ]);
    expect(secure[0]?.seen[0]?.headers.host).toBe('localhost:28611');
    expect(secure[0]?.names).toContain('localhost');
    expect(secure[1]?.seen).toEqual([]);
    await choice?.kill();
    await writeFile(trusted, readFileSync(unknown.cert, 'utf8'));
    await start((text) => edit(short(text)), own);
    expect((await choice?.state())?.providers.some(({ usable }) => usable)).toBe(false);
    await Promise.all(secure.map((each) => each.stop()));
    await rm(folder, { recursive: true });
  });

  test('the metrics of the host have each provider by its host, whether it is used, and whether it could be', async () => {
    const { used } = await start();
    await first.stop();
    await until(async () => (await used()) === 1, 'the second one is used');
    const folder = await mkdtemp(join(tmpdir(), 'layer1-metrics-'));
    const settings = shellSettings({
      CONTAINERS: '',
      SEQUENCER: '',
      OWN: '',
      LAYER1: '',
      PROVIDERS: `${choice?.url}/providers`,
      CERTIFICATES: '',
      FIREWALL: join(folder, 'none'),
      TEXTFILES: folder,
      STATE: join(folder, 'state'),
    });
    await writeFile(join(folder, 'metrics.conf'), settings);
    await writeFile(join(folder, 'node-metrics'), metricsProgram('node-metrics'));
    await copyFile('templates/host/node-metrics.help', join(folder, 'node-metrics.help'));
    execFileSync('sh', [join(folder, 'node-metrics'), join(folder, 'metrics.conf')]);
    const text = readFileSync(join(folder, 'rpc_node.prom'), 'utf8');
    expect(text.split('\n').filter((line) => line.startsWith('rpc_node_layer1'))).toEqual([
      'rpc_node_layer1_provider_used{provider="127.0.0.1:28601"} 0',
      'rpc_node_layer1_provider_usable{provider="127.0.0.1:28601"} 0',
      'rpc_node_layer1_provider_used{provider="127.0.0.1:28602"} 1',
      'rpc_node_layer1_provider_usable{provider="127.0.0.1:28602"} 1',
    ]);
    await rm(folder, { recursive: true });
  });
});
