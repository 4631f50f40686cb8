import { type BinaryLike, randomBytes, scrypt } from 'node:crypto';
import { base64, type Identity, type Recipient, type Stanza, unwrap, wrap } from './age-stanza.ts';

/** As the age program's: the logarithm of scrypt's cost, 256 MB and most of a second. */
const usualWork = 18;
/** A file that asks for more is out to use up memory: 1 GB. */
const mostWork = 20;

/**
 * Encrypts to a passphrase: the format's `scrypt` stanza. Node's own scrypt takes two thirds of the library's time, and leaves
 * the process free to do other work.
 *
 * @param work the logarithm of scrypt's cost; lower it in tests alone
 */
export function passphraseRecipient(passphrase: string, work = usualWork): Recipient {
  return {
    async wrapFileKey(fileKey) {
      const salt = randomBytes(16);
      const body = wrap(fileKey, await stretch(passphrase, salt, work));
      return [{ args: ['scrypt', base64(salt), String(work)], body } satisfies Stanza];
    },
  };
}

/** Opens what is encrypted to a passphrase. */
export function passphraseIdentity(passphrase: string): Identity {
  return {
    async unwrapFileKey([stanza, ...others]) {
      const [type, salt = '', work = ''] = stanza?.args ?? [];
      if (!stanza || type !== 'scrypt') return null;
      const cost = /^[1-9]\d?$/.test(work) ? Number(work) : 0;
      // The format forbids other stanzas beside it: they could be somebody else's.
      if (others.length > 0 || cost === 0 || cost > mostWork) throw new RangeError('this scrypt stanza is not allowed');
      return unwrap(stanza.body, await stretch(passphrase, Buffer.from(salt, 'base64'), cost));
    },
  };
}

function stretch(passphrase: string, salt: Buffer, work: number): Promise<Buffer> {
  const options = { N: 2 ** work, r: 8, p: 1, maxmem: 2 ** work * 1024 + 1024 * 1024 };
  const labelled: BinaryLike = Buffer.concat([Buffer.from('age-encryption.org/v1/scrypt'), salt]);
  return new Promise((resolve, reject) => {
    scrypt(passphrase, labelled, 32, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
