/**
 * The size of an RSA key, from its public blob: type, exponent, modulus, each after its length.
 *
 * @returns undefined for another type
 */
export function rsaBits(blob: Buffer): number | undefined {
  const fields: Buffer[] = [];
  for (let at = 0; at + 4 <= blob.length && fields.length < 3; ) {
    const length = blob.readUInt32BE(at);
    fields.push(blob.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  const [type, , modulus] = fields;
  if (String(type) !== 'ssh-rsa' || !modulus) return undefined;
  return BigInt(`0x0${modulus.toString('hex')}`).toString(2).length;
}
