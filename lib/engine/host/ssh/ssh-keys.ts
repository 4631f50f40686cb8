import { readFile } from 'node:fs/promises';
import ssh2, { type AuthenticationType, type ParsedKey } from 'ssh2';
import { shellWord } from '../../text/shell-word.ts';
import { Unreachable } from '../connection-errors.ts';
import type { SshConfig } from './ssh-config.ts';

/** A way to log in, as the SSH library takes it. */
export type Method = Extract<
  { [T in AuthenticationType]: { type: T } }[AuthenticationType],
  { type: 'publickey' | 'agent' }
> & { username: string; key?: string; agent?: ssh2.BaseAgent };

/** What can be tried to log in, and why some keys cannot, for the case that none of it is taken. */
export interface Login {
  readonly methods: readonly Method[];
  readonly notes: readonly string[];
}

/**
 * Gathers the keys: the inventory's key file, then the agent's keys, then the usual key files.
 *
 * @param identityFile the key file that the inventory names, which has to be there
 * @throws Unreachable when that file cannot be used and no agent holds its key
 */
export async function findCredentials(
  name: string,
  config: SshConfig,
  identityFile: string | undefined,
): Promise<Login> {
  const notes: string[] = [];
  const agent = config.agent === undefined ? undefined : await openAgent(config.agent, notes);
  const named = identityFile === undefined ? [] : [await readNamedKey(name, identityFile, agent)];
  const usual: KeyFile[] = [];
  for (const path of config.identityFiles.filter((file) => file !== identityFile)) {
    const file = await readKeyFile(path);
    if (file) usual.push(file);
  }
  for (const { path, why } of usual) if (why) notes.push(`${path} ${why}`);

  const files = [...named, ...usual];
  const allowed = config.identitiesOnly ? files.flatMap((file) => file.publicKey ?? []) : undefined;
  const byAgent: Method[] = agent ? [{ type: 'agent', username: config.user, agent: limitedTo(agent, allowed) }] : [];
  const byFile = (list: readonly KeyFile[]) =>
    list.flatMap(({ key }): Method[] => (key === undefined ? [] : [{ type: 'publickey', username: config.user, key }]));
  return { methods: [...byFile(named), ...byAgent, ...byFile(usual)], notes };
}

const lockedKey = 'is locked with a passphrase';

/** A private key's file. `key` is missing where it cannot be used without a passphrase; `why` says so. */
interface KeyFile {
  readonly path: string;
  readonly key: string | undefined;
  readonly publicKey: Buffer | undefined;
  readonly why: string | undefined;
}

/** An agent that answered, and the keys it holds. */
interface Agent {
  readonly socket: string;
  readonly keys: readonly Buffer[];
}

async function readNamedKey(name: string, path: string, agent: Agent | undefined): Promise<KeyFile> {
  const file = await readKeyFile(path);
  if (!file) throw new Unreachable(name, `the key file ${path} cannot be read`, 'see identity_file in the inventory');
  if (file.why === undefined) return file;
  const held = file.publicKey !== undefined && agent?.keys.some((key) => file.publicKey?.equals(key));
  if (held) return file;
  throw new Unreachable(
    name,
    `the key file ${path} ${file.why}`,
    file.why !== lockedKey
      ? 'give another in the inventory: identity_file'
      : agent
        ? `add it to the agent: ssh-add ${shellWord(path)}`
        : `start an agent and add it: eval "$(ssh-agent)" && ssh-add ${shellWord(path)}`,
  );
}

async function readKeyFile(path: string): Promise<KeyFile | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const parsed = ssh2.utils.parseKey(text);
  if (!(parsed instanceof Error)) {
    return { path, key: text, publicKey: Buffer.from(firstOf(parsed).getPublicSSH()), why: undefined };
  }
  const why = /passphrase/i.test(parsed.message) ? lockedKey : `cannot be used: ${parsed.message}`;
  return { path, key: undefined, publicKey: await readPublicKey(`${path}.pub`), why };
}

async function readPublicKey(path: string): Promise<Buffer | undefined> {
  const parsed = ssh2.utils.parseKey(await readFile(path, 'utf8').catch(() => ''));
  return parsed instanceof Error ? undefined : Buffer.from(firstOf(parsed).getPublicSSH());
}

/** The library's types know of one key where an older format may hold several. */
function firstOf(parsed: ParsedKey | ParsedKey[]): ParsedKey {
  return (Array.isArray(parsed) ? parsed[0] : parsed) as ParsedKey;
}

/** Asked once beforehand: a dead agent would end the login with an error, though other keys could be tried. */
async function openAgent(socket: string, notes: string[]): Promise<Agent | undefined> {
  try {
    return await new Promise<Agent>((resolve, reject) => {
      new ssh2.OpenSSHAgent(socket).getIdentities((error, keys) => {
        if (error || !keys) reject(error ?? new Error('no answer'));
        else resolve({ socket, keys: keys.map((key) => Buffer.from(publicBlob(key))) });
      });
    });
  } catch {
    notes.push(`no agent answers at ${socket}`);
    return undefined;
  }
}

function publicBlob(key: ssh2.KnownPublicKeys<ParsedKey>[number]): Buffer {
  return ('getPublicSSH' in key ? key : firstOf(key.pubKey as ParsedKey)).getPublicSSH();
}

/** @param allowed the only keys that may be tried; undefined for all */
function limitedTo({ socket }: Agent, allowed: readonly Buffer[] | undefined): ssh2.BaseAgent {
  const agent = new ssh2.OpenSSHAgent(socket);
  if (!allowed) return agent;
  const all = agent.getIdentities.bind(agent);
  agent.getIdentities = (tell) =>
    all((error, keys) => {
      const kept = keys?.filter((key) => allowed.some((blob) => blob.equals(publicBlob(key))));
      tell(error, kept as typeof keys);
    });
  return agent;
}
