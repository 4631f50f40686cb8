import type { Path } from '../../engine/inventory/located.ts';
import { isSecretOfDns } from './acme.ts';

/**
 * The variables that are a reference to a secret by their schema, or have rules for its characters.
 * Those of DNS are named by acme.ts.
 */
const references: readonly RegExp[] = [
  /^credentials\.(state|pool|prover)\.password$/,
  /^(backup|replica)\.password$/,
  /^backup\.(identity|s3\.(access_key|secret_key|session_token))$/,
  /^tls\.key$/,
  /^gateway\.(tls\.key|fallback|keys\..*\.key)$/,
  /^snapshot\.s3\.(access_key|secret_key|session_token)$/,
  // The monitor alone needs their secrets.
  /^monitoring\.receivers\./,
];

/** Whether a variable's reference to a secret is read by itself, and not put into the variables. */
export function keepsReference(path: Path): boolean {
  const key = path.map(String).join('.');
  if (key.startsWith('gateway.tls.acme.dns.')) return isSecretOfDns(String(path.at(-1)));
  return references.some((pattern) => pattern.test(key));
}
