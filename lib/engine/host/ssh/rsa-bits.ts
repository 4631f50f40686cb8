import { sshKeyFields } from '../../secret/ssh-key-fields.ts';

/**
 * The size of an RSA key, from its public blob: type, exponent, modulus.
 *
 * @returns undefined for another type
 */
export function rsaBits(blob: Buffer): number | undefined {
  const [type, , modulus] = sshKeyFields(blob, 3).fields;
  if (String(type) !== 'ssh-rsa' || !modulus) return undefined;
  return BigInt(`0x0${modulus.toString('hex')}`).toString(2).length;
}
