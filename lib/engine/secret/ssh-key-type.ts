/** The type at the start of an SSH public key's blob: a length of four bytes, then the name (RFC 4253, 6.6). */
export function typeOfBlob(blob: Buffer): string {
  return blob.length < 4 ? '' : blob.subarray(4, 4 + blob.readUInt32BE(0)).toString('latin1');
}
