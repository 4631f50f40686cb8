import { describe, expect, test } from 'vitest';
import { parseIpNetwork } from './ip-network.ts';
import {
  onHost,
  type PortGroup,
  packetFilterChains,
  packetFilterDifferences,
  restoreLines,
} from './packet-filter-rules.ts';

const networks = (...texts: string[]) => texts.flatMap((text) => parseIpNetwork(text) ?? []);
const postgres = { protocol: 'tcp', published: '5433' } as const;
const web = { protocol: 'tcp', published: '8123' } as const;

const groups: readonly PortGroup[] = [
  { name: 'INTERNAL', ports: [postgres], sources: networks('10.0.0.2', 'fd00::2', '10.0.0.1', '10.0.0.2') },
  { name: 'JSON-RPC', ports: [web], sources: networks('0.0.0.0/0', '10.0.0.1') },
];
const bridge = 'br-0123456789ab';
const chains = (family: 4 | 6) =>
  onHost(packetFilterChains('OURS', groups, family), { bridges: [bridge], files: [] });

test('the rules of IPv4: sources are sorted and unique, a port that is open to all has no rule', () => {
  expect(restoreLines(chains(4))).toBe(`:OURS - [0:0]
:OURS-INPUT - [0:0]
:OURS-INTERNAL - [0:0]
:OURS-JSON-RPC - [0:0]
-A OURS -i br-0123456789ab -j RETURN
-A OURS -o br-0123456789ab -m conntrack ! --ctstate DNAT --ctdir ORIGINAL -j DROP
-A OURS -p tcp -m conntrack --ctstate DNAT --ctorigdstport 5433 --ctdir ORIGINAL -j OURS-INTERNAL
-A OURS-INPUT -i lo -j RETURN
-A OURS-INPUT -i br-0123456789ab -j RETURN
-A OURS-INPUT -p tcp -m conntrack --ctorigdstport 5433 --ctdir ORIGINAL -j OURS-INTERNAL
-A OURS-INTERNAL -s 10.0.0.1/32 -j RETURN
-A OURS-INTERNAL -s 10.0.0.2/32 -j RETURN
-A OURS-INTERNAL -j DROP
`);
});

test('the rules have a line for each bridge of our own, and name no other one', () => {
  const own = packetFilterChains('OURS', groups, 4);
  const lines = (bridges: readonly string[]) =>
    onHost(own, { bridges, files: [] }).flatMap(({ rules }) => rules);
  expect(lines(['br-a', 'node0']).filter((rule) => / -?[io] /.test(` ${rule}`))).toEqual([
    '-i br-a -j RETURN',
    '-i node0 -j RETURN',
    '-o br-a -m conntrack ! --ctstate DNAT --ctdir ORIGINAL -j DROP',
    '-o node0 -m conntrack ! --ctstate DNAT --ctdir ORIGINAL -j DROP',
    '-i lo -j RETURN',
    '-i br-a -j RETURN',
    '-i node0 -j RETURN',
  ]);
  expect(lines([]).join('\n')).not.toMatch(/br-|docker0|bridge/);
});

test('a rule that depends on a file is on a host with that file alone', () => {
  const group = { name: 'LEFT', ports: [web], sources: [], onlyWith: '/etc/x.conf' };
  const own = packetFilterChains('OURS', [group], 4);
  expect(restoreLines(own)).toContain(
    '--ctorigdstport 8123 --ctdir ORIGINAL -j OURS-LEFT @only-with /etc/x.conf\n',
  );
  const rules = (files: readonly string[]) => restoreLines(onHost(own, { bridges: [], files }));
  expect(rules(['/etc/x.conf'])).toContain('--ctorigdstport 8123 --ctdir ORIGINAL -j OURS-LEFT\n');
  expect(rules([])).not.toMatch(/8123|@/);
});

test('a protocol without ports is guarded on the host itself', () => {
  const [forwarded, input, speakers] = packetFilterChains(
    'OURS',
    [{ name: 'VRRP', ports: [], protocols: [112], sources: networks('10.0.0.2') }],
    4,
  );
  expect(forwarded?.rules.join()).not.toContain('112');
  expect(input?.rules.at(-1)).toBe('-p 112 -j OURS-VRRP');
  expect(speakers?.rules).toEqual(['-s 10.0.0.2/32 -j RETURN', '-j DROP']);
});

test('a port that is open to all of IPv4 is closed over IPv6', () => {
  const [, input, internal, web6] = chains(6);
  expect(input?.rules).toEqual([
    '-i lo -j RETURN',
    '-i br-0123456789ab -j RETURN',
    '-p tcp -m conntrack --ctorigdstport 5433 --ctdir ORIGINAL -j OURS-INTERNAL',
    '-p tcp -m conntrack --ctorigdstport 8123 --ctdir ORIGINAL -j OURS-JSON-RPC',
  ]);
  expect(internal?.rules).toEqual(['-s fd00::2/128 -j RETURN', '-j DROP']);
  expect(web6?.rules).toEqual(['-j DROP']);
});

test('a port without allowed sources is closed', () => {
  const [, , nobody] = packetFilterChains('OURS', [{ name: 'NOBODY', ports: [web], sources: [] }], 4);
  expect(nobody?.rules).toEqual(['-j DROP']);
});

/** The output of iptables -S, with the jumps to the chains. */
function listing(ways: readonly string[] = []): string {
  return `-P INPUT ACCEPT
-P FORWARD DROP
-P OUTPUT ACCEPT
-N DOCKER-USER
${restoreLines(chains(4)).replace(/^:(\S+) .*$/gm, '-N $1')}${ways.join('\n')}
-A FORWARD -j DOCKER-USER
-A DOCKER-USER -j OURS
-A DOCKER-USER -j RETURN
-A INPUT -j OURS-INPUT
`;
}
const differ = (text: string) => packetFilterDifferences('iptables', text, 'OURS', chains(4));

describe('loaded rules are compared with wanted rules', () => {
  test('equal rules have no difference', () => {
    expect(differ(listing())).toEqual([]);
  });

  test('another notation of the same rules is not a difference', () => {
    const other = listing()
      .replaceAll('-p tcp -m conntrack', '-p 6 -m tcp -m conntrack')
      .replaceAll('! --ctstate DNAT --ctdir ORIGINAL', '--ctdir ORIGINAL ! --ctstate DNAT')
      .replaceAll('--ctorigdstport 5433 --ctdir ORIGINAL', '--ctdir ORIGINAL --ctorigdstport 5433');
    expect(other).not.toBe(listing());
    expect(differ(other)).toEqual([]);
  });

  test.each([
    ['another state', '! --ctstate DNAT', '--ctstate DNAT'],
    ['another port', '--ctorigdstport 5433', '--ctorigdstport 5434'],
    ['another protocol', '-p tcp', '-p udp'],
    ['another interface', '-A OURS-INPUT -i br-0123456789ab', '-A OURS-INPUT -i eth0'],
    ['a wildcard', '-A OURS-INPUT -i br-0123456789ab', '-A OURS-INPUT -i br-+'],
    ['another source', '10.0.0.2/32', '10.0.0.0/24'],
    ['one rule less', '-A OURS-INTERNAL -j DROP\n', ''],
    ['one rule more', '-A OURS-INTERNAL -j DROP\n', '-A OURS-INTERNAL -j DROP\n-A OURS-INTERNAL -j DROP\n'],
    [
      'another order',
      `-A OURS-INPUT -i lo -j RETURN\n-A OURS-INPUT -i ${bridge} -j RETURN`,
      `-A OURS-INPUT -i ${bridge} -j RETURN\n-A OURS-INPUT -i lo -j RETURN`,
    ],
    ['no jump from FORWARD', '-A FORWARD -j DOCKER-USER\n', ''],
    ['a jump on a condition', '-A DOCKER-USER -j OURS', '-A DOCKER-USER -i eth0 -j OURS'],
    ['a goto', '-A INPUT -j OURS-INPUT', '-A INPUT -g OURS-INPUT'],
  ])('%s is one difference', (_, now, then) => {
    expect(listing()).toContain(now);
    expect(differ(listing().replace(now, then))).toHaveLength(1);
  });

  test('a host without any of the rules', () => {
    expect(differ('-P INPUT ACCEPT\n-P FORWARD ACCEPT\n').map(({ what, was }) => [what, was])).toEqual([
      ['iptables chain OURS', 'absent'],
      ['iptables chain OURS-INPUT', 'absent'],
      ['iptables chain OURS-INTERNAL', 'absent'],
      ['iptables chain OURS-JSON-RPC', 'absent'],
      ['iptables chain FORWARD', 'no jump to DOCKER-USER'],
      ['iptables chain DOCKER-USER', 'no jump to OURS'],
      ['iptables chain INPUT', 'no jump to OURS-INPUT'],
    ]);
  });
});

describe('rules before the jump', () => {
  const refuses = [
    '-N f2b',
    '-A f2b -s 1.2.3.4/32 -j REJECT --reject-with icmp-port-unreachable',
    '-A f2b -j RETURN',
  ];

  test.each([
    [['-A DOCKER-USER -s 1.2.3.4/32 -j DROP']],
    [['-A FORWARD -j LOG --log-prefix "all -j ACCEPT "']],
    [['-A INPUT -p tcp -m comment --comment "counts only"']],
    [[...refuses, '-A INPUT -p tcp -m multiport --dports 22 -j f2b']],
  ])('may refuse: %j', (ways) => {
    expect(differ(listing(ways))).toEqual([]);
  });

  test.each([
    [['-A DOCKER-USER -s 1.2.3.4/32 -j ACCEPT']],
    [['-A DOCKER-USER -s 1.2.3.4/32 -j RETURN']],
    [['-A DOCKER-USER -m comment --comment "not -j DROP" -j ACCEPT']],
    [[...refuses, '-A f2b -s 5.6.7.8/32 -j ACCEPT', '-A INPUT -j f2b']],
    [[...refuses, '-A INPUT -g f2b']],
    [['-A FORWARD -j NFQUEUE --queue-num 1']],
    [['-A FORWARD -j UNHEARD-OF']],
  ])('may not let through: %j', (ways) => {
    const rule = ways.at(-1)?.replace(/^-A \S+ /, '');
    expect(differ(listing(ways))).toMatchObject([{ was: `a jump only after: ${rule}` }]);
  });
});
