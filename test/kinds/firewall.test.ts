import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { quietly } from '../../lab/docker.mjs';
import { network, outside } from '../../lab/layout.mjs';
import { answers } from '../../lab/reach.mjs';
import { packetFilter, rulesAreKept } from '../../lib/engine/resource/network/packet-filter.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { product } from '../../lib/node/server/product.ts';
import { converge } from './converge.ts';
import { dockerHost, postgresImage } from './docker-host.ts';
import type { ScratchHost } from './scratch.ts';

// With a real engine: its effect on the rules when it starts, when the host boots, and when
// networks are added and removed. The effect of the rules on packets is in packet-filter.test.ts.

const ports = (published: string) => [{ protocol: 'tcp', published }] as const;
const exporter = 'prometheus-node-exporter.service';
const networks = ['rpc-node', 'rpc-later'];
const wanted = (internal: readonly string[] = [outside.address]) =>
  packetFilter({
    product,
    prefix: 'RPC-PLAYBOOKS',
    accesses: [
      { name: 'INTERNAL', ports: ports('5432'), sources: internal },
      { name: 'JSON-RPC', ports: ports('8123'), sources: ['0.0.0.0/0', '::/0'] },
    ],
    hint: 'a hint',
    protects: ['docker.service', exporter],
    networks,
  });

let scratch: ScratchHost;
let host: TestHost;

beforeAll(async () => {
  scratch = await dockerHost();
  host = scratch.host;
  await host.run`docker network create rpc-node`;
  await run('database', '5432');
  await run('public', '8123');
  expect(await eventually(() => strangerReaches(5432))).toBe(true);
  return scratch.remove;
});

const run = (name: string, port: string) =>
  host.run`docker run -d --name ${name} --restart unless-stopped --network rpc-node -e POSTGRES_PASSWORD=any -p ${`${port}:5432`} ${postgresImage}`;

/** This machine, which is not among the sources. A closed port does not answer at all. */
function strangerReaches(port: number): Promise<boolean> {
  return answers(scratch.address, port, 1000);
}

/** The lab's outside, which is among the sources. */
async function friendReaches(port: number): Promise<boolean> {
  return (await quietly`docker exec ${outside.container} timeout 2 bash -c ${knock(scratch.address, port)}`)
    .ok;
}

const knock = (address: string, port = 5432) => `exec 3<>/dev/tcp/${address}/${port}`;

async function eventually(question: () => Promise<boolean>, seconds = 60): Promise<boolean> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(300))
    if (await question()) return true;
  return false;
}

/**
 * Connects continuously.
 *
 * @returns how often it succeeded, of how many attempts
 */
async function strangerDuring(work: () => Promise<unknown>): Promise<{ tries: number; reached: number }> {
  let over = false;
  const count = { tries: 0, reached: 0 };
  const knocking = (async () => {
    while (!over) {
      count.tries += 1;
      if (await answers(scratch.address, 5432, 150)) count.reached += 1;
      await sleep(10);
    }
  })();
  await work().finally(() => {
    over = true;
  });
  await knocking;
  return count;
}

/** Regardless of recent starts. */
const restartEngine = () =>
  host.$({ timeoutSeconds: 120 })`systemctl reset-failed docker.service; systemctl restart docker.service`;

const chain = async (name: string) => (await host.run`iptables -S ${name}`).lines().slice(1);

test('an engine with running containers: the rules are added, and only the guarded port is closed', async () => {
  expect(await eventually(() => strangerReaches(8123))).toBe(true);
  await host.run`iptables -I DOCKER-USER -s 192.0.2.1 -j DROP`;
  await converge(host, wanted());
  expect(await friendReaches(5432)).toBe(true);
  expect(await strangerReaches(5432)).toBe(false);
  expect(await strangerReaches(8123)).toBe(true);
  expect(await strangerReaches(22)).toBe(true);
  for (const address of ['127.0.0.1', scratch.address]) {
    expect((await host.$`timeout 2 bash -c ${knock(address)}`).ok, address).toBe(true);
  }
  for (const address of ['database', scratch.address]) {
    expect((await host.$`docker exec public timeout 2 bash -c ${knock(address)}`).ok, address).toBe(true);
  }
  expect(await chain('DOCKER-USER')).toEqual([
    '-A DOCKER-USER -j RPC-PLAYBOOKS',
    '-A DOCKER-USER -s 192.0.2.1/32 -j DROP',
    '-A DOCKER-USER -j RETURN',
  ]);
});

/** When the engine and the container were started. */
const starts = async () =>
  (
    await host.run`systemctl show --property=ActiveEnterTimestampMonotonic docker.service; docker inspect --format '{{.State.StartedAt}}' database`
  ).stdout;

test('the rules of a former version become those of this one: nobody gets in, and nothing is restarted', async () => {
  for (const unit of rulesAreKept({ product, networks })) await applyDrift(host, unit);
  const before = await starts();
  // What it had: a script that loads, and a drop-in that runs it.
  await host.run`systemctl disable --now rpc-node-firewall.timer rpc-node-firewall-watch.service
    rm -r /etc/systemd/system/rpc-node-firewall* /etc/systemd/system/*/rpc-node-firewall.conf /run/rpc-node /var/lib/rpc-node/firewall
    printf '[Service]\nExecStartPre=/usr/local/lib/rpc-node/firewall /etc/rpc-node/firewall RPC-PLAYBOOKS\n' > /etc/systemd/system/docker.service.d/rpc-node-firewall.conf
    systemctl daemon-reload
    iptables -F RPC-PLAYBOOKS && iptables -F RPC-PLAYBOOKS-INPUT
    for chain in RPC-PLAYBOOKS RPC-PLAYBOOKS-INPUT; do
      iptables -A $chain -i lo -j RETURN
      iptables -A $chain -p tcp -m conntrack --ctorigdstport 5432 --ctdir ORIGINAL -j RPC-PLAYBOOKS-INTERNAL
    done`;
  const { tries, reached } = await strangerDuring(async () => {
    await converge(host, wanted());
    for (const unit of rulesAreKept({ product, networks })) await converge(host, unit);
  });
  expect(tries).toBeGreaterThan(5);
  expect(reached).toBe(0);
  expect(await starts()).toBe(before);
  expect(await friendReaches(5432)).toBe(true);
});

test('an inventory with other rules: they change while containers run, and nobody gets in', async () => {
  const before = await starts();
  const { reached } = await strangerDuring(async () => {
    await converge(host, wanted([outside.address, '192.0.2.7']));
    await converge(host, wanted());
  });
  expect(reached).toBe(0);
  expect(await starts()).toBe(before);
});

test('the rules follow a network of ours that is made later, and no other one', async () => {
  const bridge = async (name: string) =>
    `br-${(await host.run`docker network inspect --format {{.Id}} ${name}`).text().slice(0, 12)}`;
  await host.run`docker network create theirs && docker network create rpc-later`;
  await host.run`docker run -d --name unpublished --network rpc-later -e POSTGRES_PASSWORD=any ${postgresImage}`;
  const [own, theirs] = [await bridge('rpc-later'), await bridge('theirs')];
  const knows = async () =>
    (await host.run`iptables -S; ip6tables -S`).stdout.match(
      new RegExp(`^-A RPC-PLAYBOOKS.* -[io] ${own} `, 'gm'),
    )?.length;
  expect(await eventually(async () => (await knows()) === 6, 20)).toBe(true);
  expect((await host.run`iptables -S; ip6tables -S`).stdout).not.toContain(`-i ${theirs} -j RETURN`);
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
  // A container that restarts changes no rule, so only the timer runs.
  const runs = async () =>
    (await host.run`journalctl -u rpc-node-firewall -o cat --grep Finished`).lines().length;
  await host.run`docker run -d --name second --network rpc-later -e POSTGRES_PASSWORD=any ${postgresImage}`;
  const before = await runs();
  await host.run`for i in 1 2 3; do docker restart -t 0 second; done`;
  await sleep(2000);
  expect((await runs()) - before).toBeLessThan(4);
  await host.run`docker rm -f unpublished second && docker network rm theirs rpc-later`;
  expect(await eventually(async () => (await knows()) === undefined, 40)).toBe(true);
  // Nobody else did that.
  expect((await host.run`cat /run/rpc-node/firewall/state`).stdout).toContain('restored 0\n');
});

test('a second run changes no rule', async () => {
  const before = (await host.run`iptables -S; ip6tables -S`).stdout;
  await applyDrift(host, wanted());
  expect((await host.run`iptables -S; ip6tables -S`).stdout).toBe(before);
});

test('a network and a container that are added later have the rules before their own', async () => {
  await host.run`docker network create later && docker run -d --name later --network later -e POSTGRES_PASSWORD=any -p 5440:5432 ${postgresImage}`;
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
  // Its ports are not guarded.
  expect(await eventually(() => strangerReaches(5440))).toBe(true);
  await host.run`docker rm -f later && docker network rm later`;
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
});

test('during a restart of the engine nobody gets in', async () => {
  const { tries, reached } = await strangerDuring(async () => {
    expect((await restartEngine()).ok).toBe(true);
    expect(await eventually(() => friendReaches(5432))).toBe(true);
  });
  expect(tries).toBeGreaterThan(5);
  expect(reached).toBe(0);
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
});

test('flushed rules are reported as missing, and restored with the engine', async () => {
  await host.run`iptables -F FORWARD && iptables -F DOCKER-USER && iptables -F RPC-PLAYBOOKS && ip6tables -F`;
  expect(await wanted().check(host)).toMatchObject({ is: 'drift' });
  expect((await restartEngine()).ok).toBe(true);
  expect(await eventually(() => friendReaches(5432))).toBe(true);
  expect(await strangerReaches(5432)).toBe(false);
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
});

test('after a boot the rules are loaded before the containers start', async () => {
  const { tries, reached } = await strangerDuring(async () => {
    host = await scratch.reboot();
    expect(await eventually(() => friendReaches(5432))).toBe(true);
  });
  expect(tries).toBeGreaterThan(5);
  expect(reached).toBe(0);
  expect(await strangerReaches(8123)).toBe(true);
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
});

test('without its rules the engine does not start, and shows why', async () => {
  await host.run`mv /etc/rpc-node/firewall.v4 /etc/rpc-node/away`;
  try {
    expect((await restartEngine()).ok).toBe(false);
    expect(await strangerReaches(5432)).toBe(false);
    expect((await host.$`journalctl -u docker -o cat -n 50`).stdout).toContain('/etc/rpc-node/firewall.v4');
  } finally {
    await host.run`mv /etc/rpc-node/away /etc/rpc-node/firewall.v4; systemctl reset-failed docker.service docker.socket; systemctl start docker.socket docker.service`;
  }
  expect(await eventually(() => friendReaches(5432))).toBe(true);
});

test('an exporter does not start without its rules, and shows why; SSH does', async () => {
  await applyDrift(host, packages('prometheus-node-exporter'));
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
  await host.run`systemctl restart ${exporter} && mv /etc/rpc-node/firewall.v4 /etc/rpc-node/away`;
  try {
    expect((await host.$`systemctl restart ${exporter}`).ok).toBe(false);
    expect(await strangerReaches(9100)).toBe(false);
    const said = (await host.$`journalctl -u ${exporter} -o cat -n 30`).stdout;
    expect(said).toContain('/etc/rpc-node/firewall.v4');
    expect(said).toContain('what they protect does not start without them');
    host = await scratch.reboot();
    expect(await strangerReaches(22)).toBe(true);
    // Right after the boot the unit may not have ended yet.
    const result = async () =>
      (await host.$`systemctl show --property=Result --value rpc-node-firewall.service`).text();
    expect(await eventually(async () => (await result()) === 'exit-code')).toBe(true);
    expect((await host.$`systemctl is-active docker.service ${exporter}`).lines()).not.toContain('active');
    expect((await host.run`cat /run/rpc-node/firewall/state`).stdout).toContain('loaded 0\n');
  } finally {
    await host.run`mv /etc/rpc-node/away /etc/rpc-node/firewall.v4; systemctl reset-failed docker.service docker.socket ${exporter}; systemctl start docker.socket docker.service ${exporter}`;
  }
  expect(await eventually(() => friendReaches(5432))).toBe(true);
  expect(await strangerReaches(5432)).toBe(false);
});

test('a source is added and removed', async () => {
  expect(await converge(host, wanted([outside.address, network.gateway]))).toContainEqual({
    what: 'iptables chain RPC-PLAYBOOKS-INTERNAL',
    was: `-s ${outside.address}/32 -j RETURN\n-j DROP`,
    wanted: `-s ${network.gateway}/32 -j RETURN\n-s ${outside.address}/32 -j RETURN\n-j DROP`,
  });
  expect(await strangerReaches(5432)).toBe(true);
  await converge(host, wanted());
  expect(await strangerReaches(5432)).toBe(false);
});

test('a name is resolved on the host, and an unknown one is refused with what to do', async () => {
  await host.run`echo ${`${network.gateway} stranger.example`} >> /etc/hosts`;
  await converge(host, wanted(['stranger.example']));
  expect(await strangerReaches(5432)).toBe(true);
  expect(await friendReaches(5432)).toBe(false);
  const unknown = wanted(['nowhere.invalid']);
  expect(await unknown.check(host)).toMatchObject({ note: 'this host finds no address of nowhere.invalid' });
  await expect(applyDrift(host, unknown)).rejects.toMatchObject({ hint: 'a hint' });
  expect(await strangerReaches(5432)).toBe(true);
});
