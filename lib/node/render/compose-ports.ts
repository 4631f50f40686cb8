import { parse as parseYaml } from 'yaml';
import { Problem } from '../../engine/problem/problem.ts';
import type { GuardedPort } from '../../engine/resource/network/packet-filter-rules.ts';

/** Host address, port on the host, port in the container, protocol, as Compose's short form has them. */
const shortForm =
  /^(?:(?:[\d.]+|\[[\da-f:]+\]):)?(?<published>\d+(?:-\d+)?):(?<target>\d+(?:-\d+)?)(?:\/(?<protocol>tcp|udp))?$/i;

interface LongForm {
  readonly target?: number | string;
  readonly published?: number | string;
  readonly protocol?: string;
}

/**
 * Every port that a Compose file publishes.
 *
 * @throws Problem where one is left to chance: what is not known beforehand cannot be guarded
 */
export function composePorts(compose: string): GuardedPort[] {
  const { services } = parseYaml(compose, { version: '1.1' }) as {
    readonly services: Readonly<Record<string, { readonly ports?: readonly (string | number | LongForm)[] }>>;
  };
  return Object.entries(services).flatMap(([service, { ports = [] }]) => ports.map((port) => portOf(service, port)));
}

function portOf(service: string, port: string | number | LongForm): GuardedPort {
  const text =
    typeof port === 'object'
      ? `${port.published ?? ''}:${port.target ?? ''}${port.protocol === undefined ? '' : `/${port.protocol}`}`
      : String(port);
  const parts = shortForm.exec(text)?.groups;
  if (parts?.published === undefined || parts.target === undefined) {
    throw new Problem(`docker-compose.yml: service ${service} publishes "${text}", which names no port of the host`, {
      hint: 'write it as "8123:8123", host first',
    });
  }
  const range = (ports: string) => ports.replace('-', ':');
  const protocol = parts.protocol?.toLowerCase() === 'udp' ? 'udp' : 'tcp';
  return { protocol, published: range(parts.published), target: range(parts.target) };
}
