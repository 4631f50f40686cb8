import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { errorCode } from '../../engine/text/error-code.ts';
import type { Authority } from '../variables/variables.ts';
import { namesOfServer } from './names.ts';
import { newServerCertificate, type Unverified, unverified } from './openssl.ts';

/** Why clients do not verify what an authority signs, and what to do. */
interface Unverifiable {
  /** It continues the file of the authority. */
  readonly why: string;
  readonly hint: string;
}

/**
 * Signs a certificate for a database server as a deploy does, and verifies it as clients do: an
 * authority may be good for others and not for them.
 *
 * @returns undefined for an authority that does, and where this machine cannot tell
 */
export async function unverifiable(
  authority: Authority,
  host: Pick<InventoryHost<unknown>, 'name' | 'connection'>,
): Promise<Unverifiable | undefined> {
  const names = namesOfServer(host);
  try {
    const made = (await newServerCertificate(authority, names)).reveal();
    const certificate = made.slice(made.indexOf('-----BEGIN CERTIFICATE-----'));
    const found = await unverified(certificate, authority.trusted);
    return found && inWords(found, host.name, names);
  } catch (error) {
    // The deploy says what openssl lacks: a machine without it may check an inventory.
    if (error instanceof Problem || errorCode(error) !== undefined) return undefined;
    throw error;
  }
}

/** By the numbers of x509_vfy.h. */
function inWords({ number, words }: Unverified, host: string, names: readonly string[]): Unverifiable {
  switch (number) {
    case 2:
    case 20:
      return {
        why: 'has no authority that has signed itself: clients follow the signatures up to it',
        hint: 'put the certificates of the authorities above behind the first one, up to the root',
      };
    case 47:
    case 48:
      return {
        why: `begins with an authority that may not sign for ${host}: its name constraints exclude one of ${names.join(', ')}`,
        hint: 'take one without name constraints: secrets.mjs generate makes it (docs/encryption.md)',
      };
    case 67:
    case 68:
      return {
        why: 'has an authority that is too weak: clients refuse an RSA key of less than 2048 bits, and signatures with SHA-1',
        hint: 'make a new one: secrets.mjs generate (docs/encryption.md)',
      };
    default:
      return {
        why: `signs what clients do not verify: ${words} (error ${number} of openssl verify)`,
        hint: 'make another one: secrets.mjs generate (docs/encryption.md)',
      };
  }
}
