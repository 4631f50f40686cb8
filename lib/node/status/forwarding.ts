import type { Reader } from '../../engine/host/host.ts';
import { type Finding, fault } from './judge.ts';

const setting = 'net.ipv4.ip_forward';

/**
 * Docker lets the kernel forward packets when it starts, and does not look again. Rules for
 * hardening, or a `sysctl --system`, take that back: json-rpc then answers on its host alone.
 */
export async function readForwarding(host: Reader): Promise<readonly Finding[]> {
  const value = await host.$`cat /proc/sys/net/ipv4/ip_forward`;
  if (value.text() !== '0') return [];
  return [
    fault(
      'no-forwarding',
      'docker',
      `${setting} is 0, so containers reach no other host, and no other host reaches them: sysctl -w ${setting}=1, and take it out of what sets it (grep -r ip_forward /etc/sysctl* /etc/ufw)`,
    ),
  ];
}
