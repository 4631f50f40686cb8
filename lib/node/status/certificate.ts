import type { Reader } from '../../engine/host/host.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { readServerCertificate } from '../encryption/certificate.ts';
import { endingOf, unfitFor } from '../encryption/fitness.ts';
import { namesOfServer } from '../encryption/names.ts';
import type { Variables } from '../variables/variables.ts';
import { type Finding, fault, note } from './judge.ts';

/** A deploy renews it four months before its end. Milliseconds. */
const soon = 30 * 86_400_000;

/**
 * What is wrong with the certificate of a host's database server. Nothing is asked of a host
 * without one.
 */
export async function judgeCertificate(reader: Reader, host: InventoryHost<Variables>): Promise<Finding[]> {
  const { tls } = host.vars;
  if (!tls || !['database', 'replica'].some((group) => host.groups.includes(group))) return [];
  const text = await readServerCertificate(reader);
  const remedy = 'a deploy makes a new one';
  if (text === '') return [fault('no-certificate', 'state-db', `has no certificate: ${remedy}`)];
  const why = unfitFor(text, { issuer: tls.certificate, names: namesOfServer(host) }, Date.now());
  if (why !== undefined)
    return [fault('wrong-certificate', 'state-db', `its certificate does not do: ${why}; ${remedy}`)];
  const { end } = endingOf(text);
  if (end - Date.now() > soon) return [];
  const day = new Date(end).toISOString().slice(0, 10);
  return [
    note('certificate-ends', 'state-db', `its certificate ends on ${day}: ${remedy}`, { end: end / 1000 }),
  ];
}
