import type { AnyAuthMethod } from 'ssh2';
import { typeOfBlob } from '../../secret/ssh-key-fields.ts';
import { counted } from '../../text/counted.ts';
import { shellWord } from '../../text/shell-word.mjs';
import { Unreachable } from '../connection-errors.ts';
import { agentWith, listAgentKeys } from './agent-keys.ts';
import { type KeyFile, lockedKey, readKeyFile } from './key-file.ts';
import { rsaBits } from './rsa-bits.ts';
import type { SshConfig } from './ssh-config.ts';

/** The keys to log in with. */
export interface Credentials {
  /** In the order in which they are tried. */
  readonly methods: readonly AnyAuthMethod[];
  /** The keys behind `methods`, for messages: key files, and `2 keys of the agent`. */
  readonly tried: readonly string[];
  /** Why other keys cannot be tried. */
  readonly unusable: readonly string[];
  /** Whether the agent was asked to sign, and has not answered. */
  isAgentAsked(): boolean;
}

/** Files or agent keys that are tried together. */
interface Tried {
  readonly shown: string;
  readonly method: object;
}

/**
 * Finds keys, in ssh's order: the inventory's key file, like `ssh -i` with a key that is not in
 * the agent; the agent's keys that ssh_config names; the agent's other keys; key files. A server
 * counts the keys that are offered (MaxAuthTries), so those that are meant come first.
 *
 * @param identityFile the key file that the inventory names
 * @throws Unreachable when that file cannot be used and no agent holds its key
 */
export async function findCredentials(
  name: string,
  config: SshConfig,
  identityFile: string | undefined,
): Promise<Credentials> {
  const held = config.agent === undefined ? undefined : await listAgentKeys(config.agent);
  const named = identityFile === undefined ? undefined : readNamedKey(name, identityFile, held);
  const paths = config.identityFiles.filter((file) => file !== identityFile);
  const usual = paths.map(readKeyFile).filter((file) => file !== undefined);
  const isHeld = ({ publicKey }: KeyFile) => held?.some((key) => publicKey?.equals(key)) ?? false;
  const isUsed = (key: Buffer) => whyUnused(key, config) === undefined;

  const isOf = (files: readonly KeyFile[], key: Buffer) =>
    files.some(({ publicKey }) => publicKey?.equals(key));
  const ofNamed = named ? [named] : [];
  const kept = held?.filter((key) => isUsed(key) && !(named?.key && isOf(ofNamed, key))) ?? [];
  const ofAgent = [
    ...kept.filter((key) => isOf(ofNamed, key)),
    ...kept.filter((key) => !isOf(ofNamed, key) && isOf(usual, key)),
    ...(config.identitiesOnly ? [] : kept.filter((key) => !isOf([...ofNamed, ...usual], key))),
  ];
  let isAsked = false;
  const onSigning = (asked: boolean) => {
    isAsked = asked;
  };
  const tried = [
    ...ofNamed.flatMap((file) => methodOf(file, config)),
    ...(ofAgent.length > 0 ? [agentMethod(ofAgent, config, onSigning)] : []),
    ...usual.filter((file) => !isHeld(file)).flatMap((file) => methodOf(file, config)),
  ];
  const files = [...ofNamed, ...usual];
  return {
    methods: tried.map(({ method }) => method as AnyAuthMethod),
    tried: tried.map(({ shown }) => shown),
    unusable: [
      ...agentFault(config, held),
      ...files.flatMap((file) => {
        const why = file.publicKey && whyUnused(file.publicKey, config);
        const whyNot = why ?? (isHeld(file) ? undefined : file.why);
        return whyNot === undefined ? [] : [`${file.path} ${whyNot}`];
      }),
    ],
    isAgentAsked: () => isAsked,
  };
}

function agentFault({ agent }: SshConfig, held: readonly Buffer[] | undefined): readonly string[] {
  if (agent === undefined) return [];
  if (!held) return [`no agent answers at ${agent}`];
  return held.length > 0
    ? []
    : [`the agent at ${agent} shows no key: it has none, or is locked (ssh-add -X)`];
}

function methodOf({ path, key, publicKey }: KeyFile, config: SshConfig): readonly Tried[] {
  if (key === undefined || (publicKey && whyUnused(publicKey, config) !== undefined)) return [];
  return [{ shown: path, method: { type: 'publickey', username: config.user, key } }];
}

function agentMethod(
  keys: readonly Buffer[],
  { user: username, agent = '' }: SshConfig,
  onSigning: (isAsked: boolean) => void,
): Tried {
  return {
    shown: `${counted(keys.length, 'key')} of the agent`,
    method: { type: 'agent', username, agent: agentWith(agent, keys, onSigning) },
  };
}

/** The server, not we, decides which of these an RSA key signs with. */
const rsaSignatures = ['rsa-sha2-256', 'rsa-sha2-512'];

/** Why ssh_config keeps a key from being used. */
function whyUnused(blob: Buffer, { leastRsaBits, algorithms: { userKeys } }: SshConfig): string | undefined {
  const bits = rsaBits(blob);
  if (bits !== undefined && bits < leastRsaBits)
    return `has ${bits} bits, and RequiredRSASize is ${leastRsaBits}`;
  const needed = bits === undefined ? [typeOfBlob(blob)] : rsaSignatures;
  const isAccepted = userKeys === undefined || needed.every((algorithm) => userKeys.includes(algorithm));
  return isAccepted ? undefined : `is not of PubkeyAcceptedAlgorithms (it needs ${needed.join(' and ')})`;
}

/**
 * The key file that the inventory names.
 *
 * @param held the keys of the agent
 * @throws Unreachable where it is not there; where the private key cannot be used
 */
export function readNamedKey(
  name: string,
  path: string,
  held: readonly Buffer[] | undefined,
  isUsable = ({ why }: KeyFile) => why === undefined,
): KeyFile {
  const file = readKeyFile(path);
  if (!file)
    throw new Unreachable(name, `the key file ${path} cannot be read`, 'see identity_file in the inventory');
  if (isUsable(file) || held?.some((key) => file.publicKey?.equals(key))) return file;
  const hint =
    file.why === lockedKey
      ? unlockAdvice(path, held !== undefined)
      : (file.hint ?? 'name another in the inventory: identity_file');
  throw new Unreachable(name, `the key file ${path} ${file.why}`, hint);
}

/** What to do about a key that a passphrase locks. */
export function unlockAdvice(path: string, hasAgent: boolean): string {
  const add = `ssh-add ${shellWord(path)}`;
  return hasAgent
    ? `add it to the agent: ${add}`
    : `start an agent and add it: eval "$(ssh-agent)" && ${add}`;
}
