import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { outside } from '../../../lab/layout.mjs';
import { answers } from '../../../lab/reach.mjs';
import { packetFilter, rulesAreKept } from '../../../lib/engine/resource/network/packet-filter.ts';
import { packages } from '../../../lib/engine/resource/system/packages.ts';
import { applyDrift, type TestHost } from '../../../lib/engine/resource/testing/test-host.ts';
import { product } from '../../../lib/node/server/product.ts';
import { readFirewall } from '../../../lib/node/status/firewall.ts';
import { dockerHost, postgresImage } from '../../kinds/docker-host.ts';
import type { ScratchHost } from '../../kinds/scratch.ts';
import { measured } from '../measured.ts';

// A host with a real engine, a published database, and the other programs that load rules. A
// stranger knocks on the database while somebody removes the rules of the firewall in every way
// that such a host has.

const networks = ['rpc-node'];
/** The host looks every 30 s, and this machine may be slow. Seconds. */
const limit = 60;

const rules = packetFilter({
  product,
  prefix: 'RPC-PLAYBOOKS',
  accesses: [
    { name: 'INTERNAL', ports: [{ protocol: 'tcp', published: '5432' }], sources: [outside.address] },
  ],
  hint: '',
  protects: ['docker.service'],
  networks,
});

let scratch: ScratchHost;
let host: TestHost;

beforeAll(async () => {
  scratch = await dockerHost();
  host = scratch.host;
  await applyDrift(host, packages('nftables', 'iptables-persistent'));
  await host.run`docker network create rpc-node`;
  await host.run`docker run -d --name database --restart unless-stopped --network rpc-node -e POSTGRES_PASSWORD=any -p 5432:5432 ${postgresImage}`;
  // What an operator saved before the first deploy.
  await host.run`iptables-save > /etc/iptables/rules.v4; ip6tables-save > /etc/iptables/rules.v6`;
  for (const part of [rules, ...rulesAreKept({ product, networks })]) await applyDrift(host, part);
  return scratch.remove;
});

const restored = async () =>
  Number((await host.run`sed -n 's/^restored //p' /run/${product}/firewall/state`).text());

/**
 * Seconds from the end of the loss until the rules are as deployed, and for how long the stranger
 * got in meanwhile.
 */
async function removedBy(loss: string) {
  let over = false;
  let open = 0;
  const knocking = (async () => {
    for (let last = performance.now(); !over; last = performance.now()) {
      const isOpen = await answers(scratch.address, 5432, 200);
      await sleep(20);
      if (isOpen) open += (performance.now() - last) / 1000;
    }
  })();
  try {
    const done = await host.$({ timeoutSeconds: 120 })`sh -c ${loss}`;
    expect(done.ok, done.stderr).toBe(true);
    const from = performance.now();
    while ((await rules.check(host)).is !== 'ok') {
      expect((performance.now() - from) / 1000, 'seconds without the rules').toBeLessThan(limit);
      await sleep(200);
    }
    return { back: (performance.now() - from) / 1000, open: () => open };
  } finally {
    await sleep(1500);
    over = true;
    await knocking;
  }
}

const losses = [
  ['nft flush ruleset', 'nft flush ruleset'],
  ['a restart of nftables', 'systemctl restart nftables'],
  ['a reload of nftables', 'systemctl reload nftables'],
  ['iptables -F and ip6tables -F', 'iptables -F; ip6tables -F'],
  [
    'iptables-restore of an older save',
    'iptables-restore < /etc/iptables/rules.v4; ip6tables-restore < /etc/iptables/rules.v6',
  ],
  ['a restart of netfilter-persistent, with an older save', 'systemctl restart netfilter-persistent'],
  ['one rule of ours is deleted', 'iptables -D RPC-PLAYBOOKS-INTERNAL -j DROP'],
  ['the jump of IPv6 is deleted', 'ip6tables -D INPUT -j RPC-PLAYBOOKS-INPUT'],
  [
    'a rule that accepts all is put before ours',
    'iptables -I DOCKER-USER -j ACCEPT; iptables -I INPUT -j ACCEPT',
  ],
] as const;

describe('rules of the firewall that somebody else removed: the host puts them back, and reports it', () => {
  test.for(losses)('%s', async ([, loss], { task }) => {
    const before = await restored();
    const { back, open } = await removedBy(loss);
    expect(await restored()).toBe(before + 1);
    expect(await answers(scratch.address, 5432, 1000)).toBe(false);
    expect((await readFirewall(host)).map(({ is }) => is)).toEqual(['firewall-flushed']);
    measured(task, `back after ${back.toFixed(1)} s; a stranger got in for ${open().toFixed(1)} s`);
    // The engine's own rules, which nobody else puts back.
    await restartEngine();
  });

  test('a restart of Docker', async ({ task }) => {
    const before = await restored();
    const { back, open } = await removedBy('systemctl restart docker.service');
    expect(await answers(scratch.address, 5432, 1000)).toBe(false);
    expect(await restored()).toBe(before);
    measured(task, `back after ${back.toFixed(1)} s; a stranger got in for ${open().toFixed(1)} s`);
  });

  test('a start of firewalld, and firewall-cmd --reload', async ({ task }) => {
    await applyDrift(host, packages('firewalld'));
    await host.run`firewall-cmd --permanent --add-port=5432/tcp`;
    const restart = await removedBy('systemctl restart firewalld');
    const reload = await removedBy('firewall-cmd --reload');
    expect(await answers(scratch.address, 5432, 1000)).toBe(false);
    const figures = [restart, reload].map(
      ({ back, open }) => `${back.toFixed(1)} s, a stranger in for ${open().toFixed(1)} s`,
    );
    measured(task, `back after ${figures.join('; after ')}`);
  });
});

/** Regardless of recent starts. */
const restartEngine = () =>
  host.run({ timeoutSeconds: 120 })`systemctl reset-failed docker.service; systemctl restart docker.service`;
