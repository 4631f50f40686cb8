import ssh2, { type AnyAuthMethod, type ParsedKey } from 'ssh2';
import { shellWord } from '../../text/shell-word.ts';
import { Unreachable } from '../connection-errors.ts';
import { readText } from './read-text.ts';
import type { SshConfig } from './ssh-config.ts';

/** The keys to log in with. */
export type Credentials = Awaited<ReturnType<typeof findCredentials>>;

/**
 * Finds keys: the inventory's key file, then the agent's keys, then the usual key files.
 *
 * @param identityFile the key file that the inventory names
 * @throws Unreachable when that file cannot be used and no agent holds its key
 */
export async function findCredentials(name: string, config: SshConfig, identityFile: string | undefined) {
  const agent = config.agent === undefined ? undefined : await listAgentKeys(config.agent);
  const named = identityFile === undefined ? [] : [readNamedKey(name, identityFile, agent)];
  const paths = config.identityFiles.filter((file) => file !== identityFile);
  const usual = paths.map(readKeyFile).filter((file) => file !== undefined);

  const username = config.user;
  const ofFiles = (files: readonly KeyFile[]) =>
    files.flatMap(({ path, key }) =>
      key === undefined ? [] : [{ path, method: { type: 'publickey', username, key } }],
    );
  const all = [...named, ...usual];
  const allowed = config.identitiesOnly ? all.flatMap((file) => file.publicKey ?? []) : undefined;
  const held = agent?.filter((key) => allowed?.some((blob) => blob.equals(key)) ?? true) ?? [];
  const ofAgent = {
    path: `${held.length} ${held.length === 1 ? 'key' : 'keys'} of the agent`,
    method: { type: 'agent', username, agent: agentWith(config.agent ?? '', allowed) },
  };
  const tried = [...ofFiles(named), ...(held.length > 0 ? [ofAgent] : []), ...ofFiles(usual)];
  return {
    /** In the order in which they are tried. */
    methods: tried.map(({ method }) => method as AnyAuthMethod),
    /** The keys behind `methods`, for messages: key files, and `2 keys of the agent`. */
    tried: tried.map(({ path }) => path),
    /** Why other keys cannot be tried. */
    unusable: [
      ...(config.agent !== undefined && !agent ? [`no agent answers at ${config.agent}`] : []),
      ...usual.flatMap(({ path, why }) => (why === undefined ? [] : [`${path} ${why}`])),
    ],
  };
}

const lockedKey = 'is locked with a passphrase';

/** A private key file. `key` is missing if it cannot be used without a passphrase; `why` has the reason. */
interface KeyFile {
  readonly path: string;
  readonly key: ParsedKey | undefined;
  readonly publicKey: Buffer | undefined;
  readonly why: string | undefined;
}

function readNamedKey(name: string, path: string, agent: readonly Buffer[] | undefined): KeyFile {
  const file = readKeyFile(path);
  if (!file) throw new Unreachable(name, `the key file ${path} cannot be read`, 'see identity_file in the inventory');
  if (file.why === undefined || agent?.some((key) => file.publicKey?.equals(key))) return file;
  const add = `ssh-add ${shellWord(path)}`;
  throw new Unreachable(
    name,
    `the key file ${path} ${file.why}`,
    file.why !== lockedKey
      ? 'name another in the inventory: identity_file'
      : agent
        ? `add it to the agent: ${add}`
        : `start an agent and add it: eval "$(ssh-agent)" && ${add}`,
  );
}

function readKeyFile(path: string): KeyFile | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  const parsed = parseKey(text);
  if (!(parsed instanceof Error)) return { path, key: parsed, publicKey: publicBlob(parsed), why: undefined };
  const why = /passphrase/i.test(parsed.message) ? lockedKey : `cannot be used: ${parsed.message}`;
  const beside = parseKey(readText(`${path}.pub`) ?? '');
  return { path, key: undefined, publicKey: beside instanceof Error ? undefined : publicBlob(beside), why };
}

/** By their text: the logins at all hosts use the same few. */
const parsedKeys = new Map<string, ParsedKey | Error>();

function parseKey(text: string): ParsedKey | Error {
  const parsed = parsedKeys.get(text) ?? firstOf(ssh2.utils.parseKey(text));
  parsedKeys.set(text, parsed);
  return parsed;
}

/** Listed beforehand: a dead agent would end the login with an error, although other keys could be tried. */
async function listAgentKeys(socket: string): Promise<readonly Buffer[] | undefined> {
  return new Promise((resolve) => {
    const agent = new ssh2.OpenSSHAgent(socket);
    agent.getIdentities((error, keys) => resolve(error ? undefined : keys?.map(blobOfIdentity)));
  });
}

function blobOfIdentity(key: ssh2.KnownPublicKeys<ParsedKey>[number]): Buffer {
  return publicBlob('getPublicSSH' in key ? key : (key.pubKey as ParsedKey));
}

/** The library's types know of one key where an older format may hold several. */
function firstOf(parsed: ParsedKey | ParsedKey[] | Error): ParsedKey | Error {
  return Array.isArray(parsed) ? (parsed[0] as ParsedKey) : parsed;
}

function publicBlob(key: ParsedKey): Buffer {
  return Buffer.from(key.getPublicSSH());
}

/** @param allowed the only keys that may be tried; undefined for all */
function agentWith(socket: string, allowed: readonly Buffer[] | undefined): ssh2.BaseAgent {
  const agent = new ssh2.OpenSSHAgent(socket);
  if (!allowed) return agent;
  const all = agent.getIdentities.bind(agent);
  agent.getIdentities = (callback) =>
    all((error, keys) => {
      const kept = keys?.filter((key) => allowed.some((blob) => blob.equals(blobOfIdentity(key))));
      callback(error, kept as typeof keys);
    });
  return agent;
}
