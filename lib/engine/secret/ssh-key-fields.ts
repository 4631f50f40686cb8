/**
 * The first fields of a key of SSH, each of which follows its length in four bytes (RFC 4251, 5),
 * and what follows them. Where the key is cut off, the last field is shorter, and others are
 * missing.
 */
export function sshKeyFields(
  bytes: Buffer,
  count: number,
): { readonly fields: readonly Buffer[]; readonly rest: Buffer } {
  const fields: Buffer[] = [];
  let rest = bytes;
  while (fields.length < count && rest.length >= 4) {
    const end = 4 + rest.readUInt32BE(0);
    fields.push(rest.subarray(4, end));
    rest = rest.subarray(end);
  }
  return { fields, rest };
}

/** The type at the start of an SSH public key's blob (RFC 4253, 6.6). */
export function typeOfBlob(blob: Buffer): string {
  const [type] = sshKeyFields(blob, 1).fields;
  return type?.toString('latin1') ?? '';
}

/** Whether a blob has a type and further fields, none of which is cut off. */
export function isWholeBlob(blob: Buffer): boolean {
  let [rest, count] = [blob, 0];
  while (rest.length >= 4 && rest.length - 4 >= rest.readUInt32BE(0)) {
    rest = rest.subarray(4 + rest.readUInt32BE(0));
    count += 1;
  }
  return rest.length === 0 && count > 1;
}

/** The bytes of a private key in OpenSSH's own format; undefined for a text in another format. */
export function openSshKey(text: string): Buffer | undefined {
  const [, body] = /^-----BEGIN OPENSSH PRIVATE KEY-----\s([A-Za-z0-9+/=\s]+)-----END/m.exec(text) ?? [];
  return body === undefined ? undefined : Buffer.from(body, 'base64');
}

const magic = 'openssh-key-v1\0';

/**
 * The public part of a private key in OpenSSH's own format. It is in clear also where a passphrase
 * locks the private part.
 *
 * @returns undefined for a damaged key. `cipher` is `none` without a passphrase
 */
export function publicPartOf(key: Buffer): { readonly cipher: string; readonly blob: Buffer } | undefined {
  if (key.toString('latin1', 0, magic.length) !== magic) return undefined;
  // The cipher, how the passphrase becomes its key, and the options of that; then the number of
  // keys, which is 1.
  const { fields, rest } = sshKeyFields(key.subarray(magic.length), 3);
  const [blob = Buffer.alloc(0)] = sshKeyFields(rest.subarray(4), 1).fields;
  return { cipher: String(fields[0]), blob };
}
