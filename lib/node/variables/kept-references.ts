import type { Path } from '../../engine/inventory/located.ts';

/** The variables that are a reference to a secret by their schema. Its characters have rules. */
const references: readonly RegExp[] = [
  /^credentials\.(state|pool|prover)\.password$/,
  /^(backup|replica)\.password$/,
  /^backup\.(identity|s3\.(access_key|secret_key|session_token))$/,
  /^tls\.key$/,
  /^gateway\.(tls\.key|tls\.acme\.dns\..*|fallback|keys\..*\.key)$/,
  /^snapshot\.s3\.(access_key|secret_key|session_token)$/,
  // The monitor alone needs their secrets.
  /^monitoring\.receivers\./,
];

/** Whether a variable's reference to a secret is read by itself, and not put into the variables. */
export function keepsReference(path: Path): boolean {
  const key = path.map(String).join('.');
  return references.some((pattern) => pattern.test(key));
}
