import type { Secret } from '../secret/secret.ts';
import type { SecretQuestion } from './secret-reference.ts';

/**
 * Reads the secret of one reference.
 *
 * @throws Problem, Problems as readSecret does
 */
export type SecretReader = (
  reference: string,
  question: Omit<SecretQuestion, 'environment' | 'secrets'>,
) => Promise<Secret>;
