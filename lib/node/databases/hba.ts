/**
 * An address as pg_hba.conf takes it.
 *
 * @param address an IP address, a network, or a host name, which the server looks up
 */
export function hbaAddress(address: string): string {
  if (address.includes('/') || !/^[\d.]+$|:/.test(address)) return address;
  return address.includes(':') ? `${address}/128` : `${address}/32`;
}
