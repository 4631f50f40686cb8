import { product } from './product.ts';

/** The unit that keeps the rules of the firewall, without its suffix. */
export const firewallUnit = `${product}-firewall`;

/** What it found at its last look; templates/host/firewall.sh writes it. A reboot removes it. */
export const firewallState = `/run/${product}/firewall/state`;
