import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { whyUnread } from '../../engine/file/bounded-file.ts';
import { shown } from '../../engine/file/shown-path.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { errorCode } from '../../engine/text/error-code.ts';
import { newAuthority, newKey } from '../../node/encryption/openssl.ts';
import { authorityKey, certificatesOf } from '../../node/inventory/encryption.ts';

/** A new key for an authority: PKCS #8 in one line of base64, as a file of secrets has it. */
export function newAuthorityKey(): string {
  const key = createPrivateKey(newKey().reveal());
  return key.export({ type: 'pkcs8', format: 'der' }).toString('base64');
}

/**
 * The file of authorities begins with the certificate of a key. Those that are in it stay behind
 * it: clients trust them until the operator takes them out. One that was made before is kept.
 *
 * @param name of the inventory
 * @param value of the key
 * @returns whether the file was written
 * @throws Problem for a secret that is not a private key, for a file with other content, and for one
 * that cannot be written
 */
export async function certifyAuthority(name: string, file: string, value: string): Promise<boolean> {
  let key: ReturnType<typeof authorityKey>;
  try {
    key = authorityKey(new Secret(value));
  } catch {
    throw new Problem('the key of the authority (tls.key) is no private key in PEM or base64');
  }
  const there = textOf(file);
  const known = certificatesOf(there);
  if (known.length === 0 && there.trim() !== '')
    throw new Problem(`${shown(file)} holds something else than certificates: it is not overwritten`);
  const own = known.find((each) => new X509Certificate(each).checkPrivateKey(key));
  if (own !== undefined && own === known[0]) return false;
  const pem = new Secret(key.export({ type: 'pkcs8', format: 'pem' }).toString());
  const first = own ?? (await newAuthority(name, pem)).trim();
  const text = [first, ...known.filter((each) => each !== own), ''].join('\n');
  try {
    writeFileSync(`${file}.new`, text, { mode: 0o644 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    throw new Problem(`cannot write ${shown(file)} (${errorCode(error) ?? 'unknown error'})`);
  }
  return true;
}

function textOf(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  } catch (error) {
    throw new Problem(`${shown(file)} ${whyUnread(error)}`);
  }
}
