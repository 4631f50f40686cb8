import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate as it should be. */
export interface WantedCertificate {
  /** Of the authority that has to have signed it, in PEM. */
  readonly issuer: string;
  readonly names: readonly string[];
}

/** How a certificate ends, in milliseconds since 1970. */
interface Ending {
  readonly end: number;
  /** It is renewed from then on: two thirds of its time have passed. */
  readonly renew: number;
}

/**
 * @param text PEM, of which the first certificate counts
 * @throws Error for another text
 */
export function endingOf(text: string): Ending {
  const { validFrom, validTo } = new X509Certificate(text);
  const [start, end] = [Date.parse(validFrom), Date.parse(validTo)];
  return { end, renew: end - (end - start) / 3 };
}

/**
 * Why a server's certificate does not do for its clients; undefined for one that does.
 *
 * @param text of the file on the host, in PEM
 * @param now milliseconds since 1970
 */
export function unfitFor(text: string, { issuer, names }: WantedCertificate, now: number) {
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(text);
  } catch {
    return 'it is no certificate in PEM';
  }
  if (!isOf(leaf, issuer)) return 'another authority has signed it';
  const missing = names.find(
    (each) => (isIP(each) ? leaf.checkIP(each) : leaf.checkHost(each)) === undefined,
  );
  if (missing !== undefined) return `it is not for ${missing}`;
  if (Date.parse(leaf.validTo) <= now) return `it was valid until ${leaf.validTo}`;
  return undefined;
}

/**
 * Whether a text is the certificate of a server that another authority has signed.
 *
 * @param text of the file on the host; one that is no certificate has no authority
 * @param issuer as in `WantedCertificate`
 */
export function isOfAnother(text: string, issuer: string): boolean {
  try {
    return !isOf(new X509Certificate(text), issuer);
  } catch {
    return false;
  }
}

function isOf(leaf: X509Certificate, issuer: string): boolean {
  const authority = new X509Certificate(issuer);
  return leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
}
