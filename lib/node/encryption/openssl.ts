import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../engine/problem/problem.ts';
import { Secret } from '../../engine/secret/secret.ts';
import type { Authority } from '../variables/variables.ts';

/** Of the certificate of an authority: ten years. */
const authorityDays = 3650;

/** Of the certificate of a server: a year. A deploy renews it long before its end. */
const serverDays = 365;

/** A new private key on the curve P-256, in PEM. */
export function newKey(): Secret {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
}

/**
 * Makes the certificate of an authority, which may sign servers and no further authority.
 *
 * @param name of the deployment
 * @param key of the authority
 * @returns the certificate, in PEM
 * @throws Problem where this machine has no openssl, or openssl refuses
 */
export async function newAuthority(name: string, key: Secret, days = authorityDays): Promise<string> {
  return inFolder(async (folder) => {
    const config = `[req]
distinguished_name = name
x509_extensions = authority
prompt = no
utf8 = yes
string_mask = utf8only
[name]
CN = ${name.replaceAll(/[^\w .-]/g, '-').slice(0, 40)} database servers
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
`;
    writeFileSync(join(folder, 'config'), config);
    const words = ['req', '-x509', '-new', '-key', '/dev/stdin', '-config', join(folder, 'config')];
    return openssl([...words, '-sha256', '-days', String(days), '-set_serial', serial()], key);
  });
}

/**
 * Signs a certificate for a database server.
 *
 * @param names addresses and names by which clients reach it
 * @param days that it is valid from now on; it never outlives the authority
 * @returns the new private key and its certificate in one text, in PEM
 * @throws Problem where this machine has no openssl, or openssl refuses
 */
export async function newServerCertificate(
  { certificate, key }: Pick<Authority, 'certificate' | 'key'>,
  names: readonly string[],
  days: number = serverDays,
): Promise<Secret> {
  const ownKey = newKey();
  const left = (Date.parse(new X509Certificate(certificate).validTo) - Date.now()) / 86_400_000;
  const lifetime = String(Math.max(1, Math.floor(Math.min(days, left))));
  return inFolder(async (folder) => {
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const empty = file('config', '[req]\ndistinguished_name = name\nprompt = no\n[name]\nCN = state-db\n');
    const request = await openssl(['req', '-new', '-key', '/dev/stdin', '-config', empty], ownKey);
    const extensions = file(
      'extensions',
      `subjectAltName = ${names.map((each) => `${isIP(each) ? 'IP' : 'DNS'}:${each}`).join(', ')}
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
`,
    );
    const issuer = ['-CA', file('ca.pem', certificate), '-CAkey', '/dev/stdin', '-set_serial', serial()];
    const input = ['-req', '-in', file('request.pem', request), '-extfile', extensions];
    const signed = await openssl(['x509', ...input, ...issuer, '-sha256', '-days', lifetime], key);
    return new Secret(ownKey.reveal() + signed);
  });
}

/** Positive, of 16 random bytes (CA/Browser Forum, 7.1 of its requirements: at least 64 bits). */
function serial(): string {
  return `0x4${randomBytes(16).toString('hex').slice(1)}`;
}

/** A folder for what is not secret, while the work lasts. */
async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'rpc-playbooks-tls-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Why OpenSSL refuses a certificate, as `openssl verify` prints it. */
export interface Unverified {
  /** Of X509_verify_cert_error_string(3), such as 2. */
  readonly number: number;
  readonly words: string;
}

/**
 * Verifies a certificate of a server as clients with libpq do: up to an authority that has signed
 * itself, with keys of 112 bits of security (SSL_CTX_set_security_level(3), level 2, that of Debian
 * and Ubuntu).
 *
 * @param certificate in PEM
 * @param trusted certificates of authorities, in PEM; those of this machine do not count
 * @returns undefined for one that is valid, and where openssl of this machine does not tell
 */
export async function unverified(certificate: string, trusted: string): Promise<Unverified | undefined> {
  return inFolder(async (folder) => {
    writeFileSync(join(folder, 'ca.pem'), trusted);
    const known = ['-CAfile', join(folder, 'ca.pem'), '-no-CApath', '-no-CAstore'];
    const words = ['verify', ...known, '-purpose', 'sslserver', '-auth_level', '2', '/dev/stdin'];
    const { stderr } = await answerOf(words, certificate);
    const [, number, said = ''] = /^error (\d+) at \d+ depth lookup: ?(.*)$/m.exec(stderr) ?? [];
    return number === undefined ? undefined : { number: Number(number), words: said };
  });
}

/**
 * @throws Problem where this machine has no openssl, or openssl refuses
 */
async function openssl(words: readonly string[], key: Secret): Promise<string> {
  const { code, stdout, stderr } = await answerOf(words, key.reveal());
  if (code === 0) return stdout;
  const missing = code === 127;
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const what = missing ? 'this machine has no openssl' : `openssl makes no certificate: ${last}`;
  const hint = missing ? 'install it: it signs the certificates of database servers' : undefined;
  throw new Problem(what, { hint });
}

interface Answer {
  /** 127 where this machine has no openssl. */
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** A key travels through a pipe: /dev/stdin cannot be opened on the socket that Node gives. */
function answerOf(words: readonly string[], input: string): Promise<Answer> {
  return new Promise((resolve) => {
    const script = 'command -v openssl >/dev/null || exit 127; cat | openssl "$@"';
    const child = execFile('sh', ['-c', script, 'sh', ...words], (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}
