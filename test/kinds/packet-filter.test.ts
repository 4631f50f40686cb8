import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quote } from '../../lib/engine/host/quote.ts';
import { parseIpNetwork } from '../../lib/engine/resource/network/ip-network.ts';
import {
  onHost,
  type PortGroup,
  packetFilterChains,
  packetFilterDifferences,
  restoreLines,
} from '../../lib/engine/resource/network/packet-filter-rules.ts';
import { formsOf } from '../faults/seed.ts';
import { type Namespaces, namespaces } from './namespaces.ts';

// Real packets through the real rules, without Docker engine and lab: a host between namespaces,
// with the rules that an engine makes for published ports. 5432 is published for a container's
// 5432, 9092 for 9091, 8123 for 8123; the container also listens on 6060. The way to the neighbour
// is a bridge named like those of OpenStack. The bridge of our own network has a name of Docker's.

const script = fileURLToPath(new URL('../../templates/host/firewall.sh', import.meta.url));
const tcp = (published: number, target: number) =>
  ({ protocol: 'tcp', published: String(published), target: String(target) }) as const;
const from = (...texts: string[]) => texts.flatMap((text) => parseIpNetwork(text) ?? []);

const friend = {
  name: 'friend',
  v4: '10.9.1.2',
  v6: 'fd09:1::2',
  gateway: '10.9.1.1',
  gateway6: 'fd09:1::1',
};
const stranger = {
  name: 'stranger',
  v4: '10.9.2.2',
  v6: 'fd09:2::2',
  gateway: '10.9.2.1',
  gateway6: 'fd09:2::1',
};
const neighbour = {
  name: 'neighbour',
  v4: '10.9.3.2',
  v6: 'fd09:3::2',
  gateway: '10.9.3.1',
  gateway6: 'fd09:3::1',
};
const container = { name: 'container', v4: '172.18.0.2', v6: 'fd09:18::2' };
const bridge = 'br-0123456789ab';
const uplink = 'br-ex';
const rules = '/run/ours/firewall';
const keep = `sh ${script} ${rules} RPC-PLAYBOOKS`;

const groups: readonly PortGroup[] = [
  { name: 'INTERNAL', ports: [tcp(5432, 5432)], sources: from('10.9.1.2', 'fd09:1::/32') },
  { name: 'METRICS', ports: [tcp(9092, 9091)], sources: from('10.9.1.2', '10.9.2.0/24') },
  { name: 'JSON-RPC', ports: [tcp(8123, 8123)], sources: from('0.0.0.0/0', '::/0') },
];

/** The names of the two programs behind `iptables` on Debian. */
describe.each(formsOf(['nft', 'legacy']))('iptables-%s', (variant) => {
  let net: Namespaces;

  beforeAll(async () => {
    net = await namespaces();
    if (variant === 'legacy')
      await net.run('mount --bind /usr/sbin/xtables-legacy-multi /usr/sbin/xtables-nft-multi');
    await net.run(`mount -t tmpfs tmpfs /var/lib && mkdir -p /var/lib/ours/firewall ${rules.replace(/[^/]*$/, '')}
      echo ${bridge} > /var/lib/ours/firewall/bridges && echo rpc-node > ${rules}.networks
      echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
      ip link add ${bridge} type bridge; ip link add ${uplink} type bridge`);
    await net.run(`ip addr add 172.18.0.1/16 dev ${bridge} && ip -6 addr add fd09:18::1/64 dev ${bridge} nodad
      ip link set ${bridge} up; ip link set ${uplink} up`);
    for (const { name, v4, v6, gateway, gateway6 } of [friend, stranger, neighbour]) {
      const way = name === 'neighbour' ? uplink : name;
      await net.run(`ip netns add ${name}
        ip link add ${name} type veth peer name eth0 netns ${name}
        ${way === name ? '' : `ip link set ${name} master ${way}`}
        ip addr add ${gateway}/24 dev ${way}; ip -6 addr add ${gateway6}/64 dev ${way} nodad; ip link set ${name} up`);
      await net.run(
        `ip link set lo up; ip addr add ${v4}/24 dev eth0; ip -6 addr add ${v6}/64 dev eth0 nodad; ip link set eth0 up
        ip route add default via ${gateway}; ip -6 route add default via ${gateway6}`,
        name,
      );
    }
    await net.run(`ip netns add container; ip link add inside type veth peer name eth0 netns container
      ip link set inside master ${bridge} up`);
    await net.run(
      `ip link set lo up; ip addr add ${container.v4}/16 dev eth0; ip -6 addr add ${container.v6}/64 dev eth0 nodad
      ip link set eth0 up; ip route add default via 172.18.0.1; ip -6 route add default via fd09:18::1`,
      'container',
    );
    await listen([5432, 9091, 8123, 6060], 'container');
    // Like docker-proxy, and an SSH server.
    await listen([5432, 9092, 8123, 22]);
    // The friend is itself a server.
    await listen([5432], 'friend');
    await listen([5432], 'neighbour');
    await listen([7000], 'stranger');
    await dockersRules();
    await load(groups);
  }, 60_000);
  afterAll(() => net?.remove());

  /** An echo server. */
  async function listen(ports: readonly number[], name?: string) {
    const program = `for (const port of ${JSON.stringify(ports)})
      require('net').createServer((socket) => { socket.on('error', () => {}); socket.pipe(socket); }).listen(port, '::')`;
    await net.run(
      `${execPath} -e ${quote(program)} > /dev/null 2>&1 &
      for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3; ss -Hlnt | grep -q ':${ports.at(-1)} ' && exit; done; exit 1`,
      name,
    );
  }

  async function dockersRules() {
    const published = [tcp(5432, 5432), tcp(9092, 9091), tcp(8123, 8123)];
    await net.run(`iptables -P FORWARD DROP
      iptables -N DOCKER; iptables -N DOCKER-USER; iptables -A DOCKER-USER -j RETURN
      iptables -A FORWARD -j DOCKER-USER
      iptables -A FORWARD -o ${bridge} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
      iptables -A FORWARD -o ${bridge} -j DOCKER
      iptables -A FORWARD -i ${bridge} -j ACCEPT
      iptables -t nat -N DOCKER
      iptables -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
      iptables -t nat -A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
      iptables -t nat -A POSTROUTING -s 172.18.0.0/16 ! -o ${bridge} -j MASQUERADE
      ${published
        .map(
          ({ published: port, target }) => `
      iptables -t nat -A DOCKER ! -i ${bridge} -p tcp --dport ${port} -j DNAT --to-destination ${container.v4}:${target}
      iptables -A DOCKER -d ${container.v4} ! -i ${bridge} -o ${bridge} -p tcp --dport ${target} -j ACCEPT`,
        )
        .join('')}`);
  }

  async function load(wanted: readonly PortGroup[]) {
    const text = (family: 4 | 6) => quote(restoreLines(packetFilterChains('RPC-PLAYBOOKS', wanted, family)));
    await net.run(`printf %s ${text(4)} > ${rules}.v4; printf %s ${text(6)} > ${rules}.v6; ${keep}`);
  }

  async function differences() {
    const look = async (tool: string, family: 4 | 6) =>
      packetFilterDifferences(
        tool,
        await net.run(`${tool} -S`),
        'RPC-PLAYBOOKS',
        onHost(packetFilterChains('RPC-PLAYBOOKS', groups, family), { bridges: [bridge], files: [] }),
      );
    return [...(await look('iptables', 4)), ...(await look('ip6tables', 6))];
  }

  /** Whether a connection is accepted and answered. */
  async function reaches(address: string, port: number, name?: string): Promise<boolean> {
    const program = `exec 3<>/dev/tcp/${address}/${port} && echo hello >&3 && read -r line <&3 && [ "$line" = hello ]`;
    return net.run(`timeout 1 bash -c ${quote(program)} 2>/dev/null`, name).then(
      () => true,
      () => false,
    );
  }

  test('loaded rules equal the wanted rules, and a second load changes nothing', async () => {
    expect(await differences()).toEqual([]);
    const before = await net.run('iptables -S; ip6tables -S');
    await net.run(keep);
    expect(await net.run('iptables -S; ip6tables -S')).toBe(before);
  });

  test('a published port is open to its sources alone', async () => {
    expect(await reaches(friend.gateway, 5432, 'friend')).toBe(true);
    expect(await reaches(stranger.gateway, 5432, 'stranger')).toBe(false);
    expect(await reaches(friend.gateway, 5432, 'stranger')).toBe(false);
    expect(await reaches(stranger.gateway, 9092, 'stranger')).toBe(true);
    expect(await reaches(stranger.gateway, 8123, 'stranger')).toBe(true);
  });

  test('so it is over IPv6, where no packet is forwarded', async () => {
    expect(await reaches(friend.gateway6, 5432, 'friend')).toBe(true);
    expect(await reaches(stranger.gateway6, 5432, 'stranger')).toBe(false);
    expect(await reaches(stranger.gateway6, 9092, 'stranger')).toBe(false);
    expect(await reaches(stranger.gateway6, 8123, 'stranger')).toBe(true);
  });

  test('a container is reached by its published ports alone, also where others have opened FORWARD', async () => {
    await net.run('iptables -P FORWARD ACCEPT; ip6tables -P FORWARD ACCEPT');
    try {
      for (const port of [5432, 8123, 6060]) {
        for (const { name } of [friend, stranger, neighbour]) {
          expect(await reaches(container.v4, port, name), `${name} ${port}`).toBe(false);
          expect(await reaches(container.v6, port, name), `${name} ${port}`).toBe(false);
        }
        // The host itself and the container.
        expect(await reaches(container.v4, port), String(port)).toBe(true);
      }
      expect(await reaches(friend.gateway, 5432, 'friend')).toBe(true);
      expect(await reaches(stranger.v6, 7000, 'container')).toBe(true);
    } finally {
      await net.run('iptables -P FORWARD DROP; ip6tables -P FORWARD ACCEPT');
    }
  });

  test('a way in whose name begins with br- is no bridge of our own', async () => {
    expect(await reaches(neighbour.gateway, 5432, 'neighbour')).toBe(false);
    expect(await reaches(neighbour.gateway6, 5432, 'neighbour')).toBe(false);
    expect(await reaches(neighbour.gateway, 8123, 'neighbour')).toBe(true);
    await net.run('iptables -t nat -F PREROUTING');
    try {
      // Docker's proxy answers.
      expect(await reaches(neighbour.gateway, 5432, 'neighbour')).toBe(false);
    } finally {
      await net.run('iptables -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER');
    }
    // A container of somebody else connects to a database elsewhere.
    await net.run('iptables -P FORWARD ACCEPT');
    expect(await reaches(neighbour.v4, 5432, 'friend')).toBe(true);
    await net.run('iptables -P FORWARD DROP');
  });

  test('without the rules of the engine, sockets of the host are guarded as well', async () => {
    await net.run('iptables -t nat -F');
    try {
      expect(await reaches(friend.gateway, 5432, 'friend')).toBe(true);
      expect(await reaches(stranger.gateway, 5432, 'stranger')).toBe(false);
    } finally {
      await net.run('iptables -P FORWARD ACCEPT; iptables -F; iptables -X; iptables -t nat -X');
      await dockersRules();
      await load(groups);
    }
  });

  test('the host itself, its containers and their connections are not affected, nor is SSH', async () => {
    expect(await reaches('127.0.0.1', 5432)).toBe(true);
    expect(await reaches('::1', 5432)).toBe(true);
    expect(await reaches(stranger.gateway, 5432)).toBe(true);
    expect(await reaches(stranger.gateway6, 5432)).toBe(true);
    expect(await reaches(stranger.gateway, 5432, 'container')).toBe(true);
    expect(await reaches(friend.v4, 5432, 'container')).toBe(true);
    expect(await reaches(friend.v4, 5432)).toBe(true);
    expect(await reaches(stranger.gateway, 22, 'stranger')).toBe(true);
  });

  test('a removed source is cut off from its open connection', async () => {
    const program = `exec 3<>/dev/tcp/${friend.gateway}/5432
      while echo hello >&3 && read -r -t 1 line <&3; do echo "$line" >> /run/said; sleep 0.2; done; : > /run/cut`;
    await net.run(`timeout 20 bash -c ${quote(program)} > /dev/null 2>&1 & sleep 1`, 'friend');
    expect(await net.run('[ ! -e /run/cut ] && head -n 1 /run/said')).toBe('hello\n');
    await load(groups.map((group) => (group.name === 'INTERNAL' ? { ...group, sources: [] } : group)));
    try {
      await net.run('for i in 1 2 3 4 5 6 7 8 9; do sleep 0.5; [ ! -e /run/cut ] || exit 0; done; exit 1');
    } finally {
      await load(groups);
    }
  });

  test("an operator's own rules stay, and none that opens a port is before ours", async () => {
    await net.run(`iptables -I DOCKER-USER -s ${stranger.v4} -j ACCEPT; iptables -I DOCKER-USER -s 192.0.2.1 -j DROP
      iptables -N f2b; iptables -A f2b -s 192.0.2.2 -j REJECT; iptables -A f2b -j RETURN; iptables -I INPUT -p tcp -j f2b`);
    expect(await differences()).toEqual([
      {
        what: 'iptables chain DOCKER-USER',
        was: `a jump only after: -s ${stranger.v4}/32 -j ACCEPT`,
        wanted: 'a jump to RPC-PLAYBOOKS first',
      },
    ]);
    await load(groups);
    expect(await differences()).toEqual([]);
    expect(await reaches(stranger.gateway, 5432, 'stranger')).toBe(false);
    expect(await net.run('iptables -S DOCKER-USER')).toBe(`-N DOCKER-USER
-A DOCKER-USER -j RPC-PLAYBOOKS
-A DOCKER-USER -s 192.0.2.1/32 -j DROP
-A DOCKER-USER -s ${stranger.v4}/32 -j ACCEPT
-A DOCKER-USER -j RETURN
`);
  });

  test('rules that were changed, removed or flushed are reported exactly, and restored', async () => {
    await net.run(
      'iptables -I RPC-PLAYBOOKS-INTERNAL -s 10.9.2.2 -j RETURN; ip6tables -F INPUT; iptables -F RPC-PLAYBOOKS-METRICS',
    );
    expect(await differences()).toEqual([
      {
        what: 'iptables chain RPC-PLAYBOOKS-INTERNAL',
        was: '-s 10.9.2.2/32 -j RETURN\n-s 10.9.1.2/32 -j RETURN\n-j DROP',
        wanted: '-s 10.9.1.2/32 -j RETURN\n-j DROP',
      },
      {
        what: 'iptables chain RPC-PLAYBOOKS-METRICS',
        was: 'empty',
        wanted: '-s 10.9.1.2/32 -j RETURN\n-s 10.9.2.0/24 -j RETURN\n-j DROP',
      },
      {
        what: 'ip6tables chain INPUT',
        was: 'no jump to RPC-PLAYBOOKS-INPUT',
        wanted: 'a jump to RPC-PLAYBOOKS-INPUT first',
      },
    ]);
    await load(groups);
    expect(await differences()).toEqual([]);
  });

  test('rules that cannot be loaded leave the existing ones, and report it', async () => {
    const before = await net.run('iptables -S');
    await net.run(`cp ${rules}.v4 /run/good.v4; echo "-A NOWHERE -j DROP" >> ${rules}.v4`);
    await expect(net.run(keep)).rejects.toThrow('iptables-restore');
    await net.run(`rm ${rules}.v4`);
    await expect(net.run(keep)).rejects.toThrow(
      /firewall\.v4(.|\n)*what they protect does not start without them/,
    );
    expect(await state()).toMatchObject({ loaded: '0' });
    await net.run(`mv /run/good.v4 ${rules}.v4`);
    expect(await net.run('iptables -S')).toBe(before);
  });

  /** What the script leaves for the metrics and for `status`. */
  async function state(): Promise<Readonly<Record<string, string>>> {
    const lines = (await net.run('cat /run/ours/firewall/state')).trim().split('\n');
    return Object.fromEntries(lines.map((line) => line.split(/ (.*)/, 2) as [string, string]));
  }

  const dump = () => net.run('iptables -S; ip6tables -S');

  test("a first load and changed rules are nobody else's doing", async () => {
    await net.run(`rm -r /run/ours/firewall; ${keep}`);
    expect(await state()).toMatchObject({ loaded: '1', restored: '0', restored_at: '0' });
    await load([...groups, { name: 'MORE', ports: [tcp(9100, 9100)], sources: [] }]);
    await load(groups);
    expect(await state()).toMatchObject({ loaded: '1', restored: '0' });
  });

  test.each([
    'iptables -F; iptables -X; ip6tables -F; ip6tables -X',
    'iptables -D FORWARD -j DOCKER-USER',
    'iptables -D DOCKER-USER -j RPC-PLAYBOOKS',
    'iptables -D INPUT -j RPC-PLAYBOOKS-INPUT',
    'ip6tables -D INPUT -j RPC-PLAYBOOKS-INPUT',
    'ip6tables -F RPC-PLAYBOOKS-INTERNAL',
    'iptables -D RPC-PLAYBOOKS-INTERNAL 1',
    'iptables -D RPC-PLAYBOOKS-INPUT 2',
    'iptables -I RPC-PLAYBOOKS-INTERNAL -s 10.9.2.0/24 -j RETURN',
    'iptables -I INPUT -s 10.9.2.0/24 -j ACCEPT',
    'iptables -I INPUT -j RETURN',
    'iptables -I FORWARD -j ACCEPT',
    'iptables -N mine; iptables -A mine -p tcp -j ACCEPT; iptables -I DOCKER-USER -j mine',
    'iptables-restore < /run/older',
  ])('%s: the rules are back after the next look, and it is counted', async (loss) => {
    await net.run(
      "printf '%s\\n' '*filter' ':INPUT ACCEPT' ':FORWARD ACCEPT' ':OUTPUT ACCEPT' COMMIT > /run/older",
    );
    const before = Number((await state()).restored);
    await net.run(loss);
    expect(await differences()).not.toEqual([]);
    const said = await net.run(keep);
    expect(said).toMatch(
      /^Somebody else changed the rules of the firewall, and they are as before again: ip6?tables: /,
    );
    expect(await differences()).toEqual([]);
    const after = await state();
    expect(after).toMatchObject({ loaded: '1', restored: String(before + 1), restored_at: after.checked });
    expect(await reaches(stranger.gateway, 5432, 'stranger')).toBe(false);
    expect(await reaches(stranger.gateway6, 5432, 'stranger')).toBe(false);
    // And not again and again.
    const all = await dump();
    expect(await net.run(keep)).toBe('');
    expect(await dump()).toBe(all);
    await net.run('iptables -F; iptables -X; iptables -t nat -F; iptables -t nat -X');
    await dockersRules();
    await net.run(keep);
  });

  test('what others add is left alone where it opens nothing before our rules', async () => {
    await net.run(`iptables -N f2b-x; iptables -A f2b-x -s 192.0.2.2 -j REJECT; iptables -A f2b-x -j RETURN
      iptables -I INPUT -p tcp -j f2b-x; iptables -I FORWARD -s 192.0.2.1 -j DROP; iptables -A INPUT -j ACCEPT
      iptables -I INPUT -j LOG --log-prefix "all -j ACCEPT "; iptables -A DOCKER-USER -s 192.0.2.3 -j ACCEPT`);
    const before = await dump();
    expect(await net.run(keep)).toBe('');
    expect(await dump()).toBe(before);
    expect(await differences()).toEqual([]);
  });

  test('the engine moves its own jump while it sets up a network: nobody else did that', async () => {
    const { restored } = await state();
    await net.run(`iptables -D FORWARD -j DOCKER-USER; iptables -I FORWARD -o ${bridge} -j ACCEPT
      { sleep 1.5; iptables -I FORWARD -j DOCKER-USER; } > /dev/null 2>&1 &`);
    expect(await net.run(keep)).toBe('');
    expect(await state()).toMatchObject({ loaded: '1', restored });
    expect(await differences()).toEqual([]);
    await net.run(`iptables -D FORWARD -o ${bridge} -j ACCEPT`);
  });

  test('a port is guarded only with the file that makes it ours', async () => {
    await load([
      ...groups,
      { name: 'LEFT', ports: [tcp(7777, 7777)], sources: [], onlyWith: '/run/ours/exporter.conf' },
    ]);
    await listen([7777]);
    expect(await reaches(stranger.gateway, 7777, 'stranger')).toBe(true);
    await net.run(`: > /run/ours/exporter.conf; ${keep}`);
    expect(await reaches(stranger.gateway, 7777, 'stranger')).toBe(false);
    expect(await reaches(friend.gateway, 5432, 'friend')).toBe(true);
    await load(groups);
  });

  test('the rules follow the bridges', async () => {
    await net.run(`echo br-fedcba987654 >> /var/lib/ours/firewall/bridges; ${keep}`);
    expect(await net.run('iptables -S RPC-PLAYBOOKS-INPUT; ip6tables -S RPC-PLAYBOOKS')).toContain(
      'br-fedcba987654',
    );
    const count = (await state()).restored;
    await net.run(`echo ${bridge} > /var/lib/ours/firewall/bridges; ${keep}`);
    expect(await differences()).toEqual([]);
    expect((await state()).restored).toBe(count);
  });
});
