import { type Place, Problem, Problems } from '../../problem/problem.ts';
import type { AgeRecipient } from './age-file.ts';

const kinds = 'a recipient is a line age1…, or a public key of SSH: ssh-ed25519 AAAA…, ssh-rsa AAAA…';

/**
 * Reads who may decrypt: one recipient a line, as the age program takes them with -R. Empty lines and lines with # are skipped.
 *
 * @param file as problems call it
 * @throws Problems with every line that is no recipient, or where there is none
 */
export async function parseRecipients(text: string, file: string): Promise<readonly AgeRecipient[]> {
  const { Encrypter } = await import('age-encryption');
  const problems: Problem[] = [];
  const recipients: AgeRecipient[] = [];
  for (const [at, raw] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const where: Place = { file, line: at + 1, column: raw.indexOf(line) + 1 };
    const [type = '', key = ''] = line.split(/\s+/);
    try {
      if (type.startsWith('age1')) {
        new Encrypter().addRecipient(line);
        recipients.push(line);
      } else if (/^(ssh|ecdsa|sk)-/.test(type)) {
        // Only whoever has a key of SSH pays for loading its libraries.
        const { sshPublicKey, sshRecipient } = await import('./ssh-public-key.ts');
        recipients.push(sshRecipient(sshPublicKey(Buffer.from(key, 'base64'))));
      } else {
        problems.push(isPrivate(line, where) ?? new Problem('this is no recipient', { where, hint: kinds }));
      }
    } catch (error) {
      const what = type.startsWith('age1')
        ? 'this recipient of age is misspelt'
        : `this key ${(error as Error).message}`;
      problems.push(new Problem(what, { where, hint: kinds }));
    }
  }
  if (problems.length > 0) throw new Problems(problems);
  if (recipients.length === 0) throw new Problem('no recipient stands in this file', { where: { file }, hint: kinds });
  return recipients;
}

function isPrivate(line: string, where: Place): Problem | undefined {
  if (!/^(AGE-SECRET-KEY-|-----BEGIN)/.test(line)) return undefined;
  return new Problem('this is a private key: whoever reads this file can decrypt', {
    where,
    hint: 'take it out, make another, and put its public half here',
  });
}
