import ssh2, { type ParsedKey } from 'ssh2';
import { publicBlob } from './key-file.ts';

/**
 * The public keys of an agent, in its order.
 *
 * @returns undefined where none answers: the login would end with an error of the library
 */
export async function listAgentKeys(socket: string): Promise<readonly Buffer[] | undefined> {
  return new Promise((resolve) => {
    const agent = new ssh2.OpenSSHAgent(socket);
    agent.getIdentities((error, keys) => resolve(error ? undefined : keys?.map(blobOfIdentity)));
  });
}

/** An agent that offers these keys alone, in this order. */
export function agentWith(socket: string, wanted: readonly Buffer[]): ssh2.BaseAgent {
  const agent = new ssh2.OpenSSHAgent(socket);
  const all = agent.getIdentities.bind(agent);
  agent.getIdentities = (callback) =>
    all((error, keys) => {
      const inOrder = wanted.flatMap((blob) => keys?.find((key) => blob.equals(blobOfIdentity(key))) ?? []);
      callback(error, inOrder as typeof keys);
    });
  return agent;
}

function blobOfIdentity(key: ssh2.KnownPublicKeys<ParsedKey>[number]): Buffer {
  return publicBlob('getPublicSSH' in key ? key : (key.pubKey as ParsedKey));
}
