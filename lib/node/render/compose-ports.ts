import { Problem } from '../../engine/problem/problem.ts';
import type { GuardedPort } from '../../engine/resource/network/packet-filter-rules.ts';
import { mostPort } from './overrides/values.ts';

/** A port, or a range of ports, that a Compose service publishes. */
export interface PublishedPort extends GuardedPort {
  readonly service: string;
  /** Inside the container. */
  readonly target: string;
}

/** A port of a Compose file in its short or long form. */
export type ComposePort =
  | string
  | number
  | { readonly target?: number | string; readonly published?: number | string; readonly protocol?: string };

/** Host address, port on the host, port in the container, protocol: Compose's short form. */
const shortForm =
  /^(?:(?:[\d.]+|\[[\da-f:]+\]):)?(?<published>\d+(?:-\d+)?):(?<target>\d+(?:-\d+)?)(?:\/(?<protocol>tcp|udp))?$/i;

/**
 * @throws Problem for a port that Docker would choose: an unknown port cannot be guarded
 */
export function publishedPort(service: string, port: ComposePort): PublishedPort {
  const text =
    typeof port === 'object'
      ? `${port.published ?? ''}:${port.target ?? ''}${port.protocol === undefined ? '' : `/${port.protocol}`}`
      : String(port);
  const { published = '', target = '', protocol = 'tcp' } = shortForm.exec(text)?.groups ?? {};
  const isPorts = (ports: string) =>
    ports.split('-').every((one) => Number(one) >= 1 && Number(one) <= mostPort);
  if (!isPorts(published) || !isPorts(target)) {
    throw new Problem(
      `docker-compose.yml: service ${service} publishes "${text}", which does not name a port of the host and one of the container`,
      { hint: `write the ports as "8123:8123", that of the host first, each a port from 1 to ${mostPort}` },
    );
  }
  const range = (ports: string) => ports.replace('-', ':');
  const isUdp = protocol.toLowerCase() === 'udp';
  return { service, protocol: isUdp ? 'udp' : 'tcp', published: range(published), target: range(target) };
}
