import { usualAddress } from '../../engine/inventory/address.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { networkHas } from '../../engine/resource/network/ip-network.ts';
import type { Fault } from '../variables/fault.ts';
import { layer1Key, layer1Urls } from '../variables/layer1.ts';
import type { RawVariables } from '../variables/variables.ts';

type Host = InventoryHost<RawVariables>;

/**
 * An address in the network of the containers: they would not leave it. Names are looked up later,
 * on the hosts.
 */
export function containerSubnetFaults(hosts: readonly Host[], { vars }: Host): Fault[] {
  const { container_subnet: subnet, network, gateway } = vars;
  if (subnet === undefined) return [];
  const used = [
    ...hosts.map(({ name: other, connection }) => [`the address of ${other}`, connection.address] as const),
    [
      'the address in network.trusted_sequencer_url',
      new URL(network.trusted_sequencer_url).hostname,
    ] as const,
    ...layer1Urls(vars).map(
      (url) => [`the address in network.${layer1Key(vars)}`, new URL(url).hostname] as const,
    ),
    ['gateway.shared.address', gateway.shared?.address.replace(/\/.*/, '') ?? ''] as const,
  ];
  const [whose, address] = used.find(([, each]) => networkHas(subnet, usualAddress(each))) ?? [];
  if (address === undefined) return [];
  return [
    {
      path: ['container_subnet'],
      what: `container_subnet ${subnet} has ${usualAddress(address)}, ${whose}`,
      hint: 'containers look for an address of their own network in it alone: choose a network that nothing else uses',
    },
  ];
}
