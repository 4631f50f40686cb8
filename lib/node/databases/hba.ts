/**
 * An address as pg_hba.conf takes it.
 *
 * @param address an IP address, a network, or a host name, which the server looks up
 */
export function hbaAddress(address: string): string {
  if (address.includes('/') || !/^[\d.]+$|:/.test(address)) return address;
  return address.includes(':') ? `${address}/128` : `${address}/32`;
}

/** The functions for lines of ours in pg_hba.conf, which scripts need before them. */
export const hbaLines = new URL('../../../templates/host/hba-lines.sh', import.meta.url);
