import { readable } from '../../../text/printable.ts';
import type { Unreachable } from '../../connection-errors.ts';
import { notForwarded } from '../hops.ts';
import { invalidCertificate, refusedKey } from '../host-key.ts';
import { lockedKey, readKeyFile } from '../key-file.ts';
import type { Hop } from '../link.ts';
import { unlockAdvice } from '../ssh-keys.ts';
import { explain, NetworkError, NoKeyAccepted, type Seen, type SshError, type Tried } from '../ssh-login.ts';
import { certificateFault } from '../user-certificate.ts';
import { wordsOfServer } from './server-words.ts';
import { wordsOf } from './words-of.ts';

/** Errors of the network, by the words of the system. */
const codes: readonly (readonly [RegExp, string])[] = [
  [/Connection refused/, 'ECONNREFUSED'],
  [/No route to host/, 'EHOSTUNREACH'],
  [/Network is unreachable|Permission denied/, 'ENETUNREACH'],
  [/timed out/, 'ETIMEDOUT'],
  [/Temporary failure in name resolution/, 'EAI_AGAIN'],
  [/Could not resolve hostname/, 'ENOTFOUND'],
];

/** The connection ended, for whatever reason. */
const ended =
  /^(kex_exchange_identification: .*([Cc]losed|reset)|Connection (closed|reset) by |Timeout, server )/;

/** ssh has the same time limit, and may be first. The error has its own words for it. */
const ownLimit = /^(Connection timed out during banner exchange|Connection to \S+ port \d+ timed out)$/;

/**
 * No login within the time limit.
 *
 * @param said the lines of standard error of ssh
 * @param seconds the time limit
 */
export function lateHost({ name, config }: Hop, said: readonly string[], seconds: number): Unreachable {
  const ofServer = wordsOfServer(said, config.settings.has('logverbose'));
  const seen = {
    offered: [],
    greeting: [...greetingIn(said), ...ofServer],
    // Such as those of a ProxyCommand that waits for a login elsewhere.
    ofSsh: wordsOf(said).filter(
      (line) => !ofServer.includes(line) && !ownLimit.test(line) && !ended.test(line),
    ),
    isAgentAsked: isAgentAsked(said),
  };
  return explain(name, config, noKeys, seen, errorOf('', 'ETIMEDOUT'), seconds);
}

/** Whether the last that happened is that the server accepts a key of the agent, which then has to sign. */
function isAgentAsked(said: readonly string[]): boolean {
  const last = said.findLast((line) =>
    /^debug1: (Server accepts key|Authentications that can continue|Next authentication method): /.test(line),
  );
  return last !== undefined && /^debug1: Server accepts key: .* agent$/.test(last);
}

/** What the server said before its version. */
function greetingIn(said: readonly string[]): readonly string[] {
  const words = said.flatMap(
    (line) => /^debug1: kex_exchange_identification: banner line \d+: (.*)$/.exec(line)?.[1] ?? [],
  );
  return words.map((line) => readable(line).trimEnd()).filter(Boolean);
}

interface Circumstances {
  /** The time limit of the login. Seconds. */
  readonly timeout: number;
  /** Whether somebody can be asked for a password. */
  readonly asks: boolean;
  /** Why the jump host did not reach the host. */
  readonly unreached: string | undefined;
}

/**
 * Why ssh ended before it was logged in.
 *
 * @param said the lines of its standard error
 */
export function explainEnd(
  hop: Hop,
  said: readonly string[],
  { timeout, asks, unreached }: Circumstances,
): Unreachable {
  const { name, config } = hop;
  const text = said.join('\n');
  const words = wordsOf(said);
  const greeting = greetingIn(said);
  const explained = (error: SshError, seen: Seen = { offered: [] }, tried = noKeys) =>
    explain(name, config, tried, { ...seen, greeting }, error, timeout);

  const hostKey = refusedHostKey(hop, text);
  if (hostKey) return hostKey;
  if (unreached !== undefined) return notForwarded(hop, new Error(unreached));
  const [network = ''] = /^ssh: (connect to host|Could not resolve hostname) .*$/m.exec(text) ?? [];
  if (said.some((line) => /^(bind|getaddrinfo:) /.test(line) && line.includes(` ${config.bindAddress}: `)))
    return explained(errorOf(network, 'EADDRNOTAVAIL'));
  const code = codes.find(([pattern]) => pattern.test(network))?.[1];
  if (code !== undefined) return explained(errorOf(network, code));
  if (/^Connection timed out during banner exchange/m.test(text)) return lateHost(hop, said, timeout);
  const reasons = words.filter((line) => !ended.test(line));
  const ofServer = wordsOfServer(said, config.settings.has('logverbose')).filter((line) => !ended.test(line));
  const ofSsh = reasons.filter((line) => !ofServer.includes(line));
  const login = loginIn(text, asks);
  const locked = login?.isRefused && !asks ? lockedOut(hop, text) : undefined;
  if (locked) return locked;
  if (login?.isRefused)
    return explained(
      errorOf('authentication'),
      { ...login, words: ofServer, ofSsh },
      { ...login, faults: [...certificateFaults(hop), ...(asks ? [] : lockedFaults(hop, text))] },
    );
  if (login ? ofServer.length > 0 : words.length > 0 && reasons.length === 0) {
    const isReason = afterLastMethod(said).some((line) => ofServer.includes(line));
    return explained(errorOf('', 'ECONNRESET'), { offered: [], words: ofServer, isReason });
  }
  if (ended.test(words.at(-1) ?? ''))
    return new NetworkError(name, `the connection to ${config.host} broke off: ${words.join('; ')}`);
  return explained(errorOf(words.join('; ') || 'ssh ended without a word'));
}

/** What ssh and the server said after the last method of login, and after its answer. */
function afterLastMethod(said: readonly string[]): readonly string[] {
  const last = said.findLastIndex((line) =>
    /^debug1: (Next authentication method|Offering public key|Authentications that can continue): /.test(
      line,
    ),
  );
  return wordsOf(said.slice(last + 1));
}

/** How far the login came; undefined where it did not begin. */
function loginIn(text: string, asks: boolean) {
  const refused = /^\S+: Permission denied \(([^)]*)\)/m.exec(text)?.[1];
  const offers = [...text.matchAll(/^debug1: Authentications that can continue: (.*)$/gm)];
  const offered = (refused ?? offers.at(-1)?.[1])?.split(',');
  if (offered === undefined) return undefined;
  return {
    offered,
    // A server that says goodbye in the middle of a login refuses it.
    isRefused: refused !== undefined || /^Received disconnect from /m.test(text),
    isPartial: / with partial success/.test(text),
    tried: [...text.matchAll(/^debug1: Offering public key: (.*) SHA256:/gm)].map(([, key]) => `${key}`),
    unusable: !asks && offered.some((method) => method !== 'publickey') ? [noTerminal] : [],
  };
}

/** A login without the key that the server accepts, as a passphrase locks it. */
function lockedOut({ name, config }: Hop, text: string): Unreachable | undefined {
  const path = lockedOf(text, /^debug1: Server accepts key: (.*) \S+ SHA256:\S+(?: explicit)?$/gm)[0];
  if (path === undefined) return undefined;
  const what = `${config.user} could not log in at ${config.host}: the server accepts the key ${path}, which ${lockedKey}`;
  return new NoKeyAccepted(name, what, unlockAdvice(path, config.agent !== undefined));
}

/** Keys that were not tried, as ssh does not see even the public part without the passphrase. */
function lockedFaults({ config }: Hop, text: string): readonly string[] {
  return lockedOf(text, /^debug1: Trying private key: (.*)$/gm).map(
    (path) => `${path} ${lockedKey}: ${unlockAdvice(path, config.agent !== undefined)}`,
  );
}

/** The keys of these lines of ssh that a passphrase locks. */
function lockedOf(text: string, lines: RegExp): readonly string[] {
  const paths = new Set([...text.matchAll(lines)].map(([, path = '']) => path));
  return [...paths].filter((path) => readKeyFile(path)?.why === lockedKey);
}

function certificateFaults({ identityFile, config }: Hop): readonly string[] {
  const paths = new Set([identityFile ?? [], config.identityFiles].flat());
  return [...paths].flatMap((path) => certificateFault(path, config.user) ?? []);
}

const noKeys: Tried = { tried: [], unusable: [] };

const noTerminal =
  'nobody can be asked for a password: there is no terminal, and no program for that (SSH_ASKPASS)';

function errorOf(message: string, code?: string): SshError {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

/** The refusal of a host's key, in the words that the SSH library's has. */
function refusedHostKey(hop: Hop, text: string): Unreachable | undefined {
  const isRefused = /^Host key verification failed|HOST IDENTIFICATION HAS CHANGED|REVOKED HOST KEY/m.test(
    text,
  );
  if (!isRefused && !/revoked by file/.test(text)) return undefined;
  const [, type = 'a key', fingerprint = ''] =
    /^debug1: Server host (?:key|certificate): (\S+) (SHA256:[^\s,]+)/m.exec(text) ?? [];
  const status = statusIn(text);
  const [invalid] = /^Certificate invalid: .*$/m.exec(text) ?? [];
  if (invalid !== undefined && status === 'unknown') return invalidCertificate(hop, readable(invalid));
  return refusedKey(hop, status, { type, fingerprint });
}

function statusIn(text: string): 'revoked' | 'changed' | 'unknown' {
  if (/revoked/i.test(text)) return 'revoked';
  return /HOST IDENTIFICATION HAS CHANGED/.test(text) ? 'changed' : 'unknown';
}
