import { type Place, Problem, Problems } from '../../problem/problem.ts';
import { messageOf } from '../../text/error-code.ts';
import type { AgeRecipient } from './age-file.ts';

const kinds = 'a recipient is a line age1…, or a public key of SSH: ssh-ed25519 AAAA…, ssh-rsa AAAA…';

/**
 * Reads the recipients: one a line, as for the age program with -R. Empty lines and lines with #
 * are skipped.
 *
 * @param file as problems show it
 * @throws Problems with every line that is not a recipient
 * @throws Problem where there is no recipient
 */
export async function parseRecipients(text: string, file: string): Promise<readonly AgeRecipient[]> {
  const problems: Problem[] = [];
  const recipients: AgeRecipient[] = [];
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  for (const [at, raw] of lines.entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const where: Place = { file, line: at + 1, column: raw.indexOf(line) + 1 };
    const recipient = await recipientOf(line, where);
    if (recipient instanceof Problem) problems.push(recipient);
    else recipients.push(recipient);
  }
  if (problems.length > 0) throw new Problems(problems);
  if (recipients.length === 0)
    throw new Problem('this file has no recipients', { where: { file }, hint: kinds });
  return recipients;
}

async function recipientOf(line: string, where: Place): Promise<AgeRecipient | Problem> {
  if (/^(AGE-SECRET-KEY-|-----BEGIN)/.test(line)) {
    return new Problem('this is a private key: everybody who can read this file can decrypt the secrets', {
      where,
      hint: 'remove the line, make a new key pair, put the new public key here, and run rekey; if the file was shared, run rotate as well',
    });
  }
  const [type = '', key = ''] = line.split(/\s+/);
  const isNative = type.startsWith('age1');
  if (!isNative && !/^(ssh|ecdsa|sk)-/.test(type))
    return new Problem('this is not a recipient', { where, hint: kinds });
  try {
    if (isNative) {
      const { Encrypter } = await import('age-encryption');
      new Encrypter().addRecipient(line);
      return line;
    }
    // Loaded late, so that the SSH key libraries cost nothing without such a key.
    const { sshPublicKey, sshRecipient } = await import('./ssh-public-key.ts');
    return sshRecipient(sshPublicKey(Buffer.from(key, 'base64')));
  } catch (error) {
    const what = isNative ? 'this recipient of age is misspelt' : `this key ${messageOf(error)}`;
    return new Problem(what, { where, hint: kinds });
  }
}
