import { connect, Socket } from 'node:net';
import ssh2, { type ParsedKey } from 'ssh2';
import { sshKeyFields, typeOfBlob } from '../../secret/ssh-key-fields.ts';
import { publicBlob } from './key-file.ts';

/**
 * The public keys of an agent, in its order, without those that the SSH library cannot use.
 *
 * @returns undefined where none answers: the login would end with an error of the library
 */
export async function listAgentKeys(socket: string): Promise<readonly Buffer[] | undefined> {
  const blobs = await blobsOfAgent(socket);
  return blobs?.filter((blob) => !(ssh2.utils.parseKey(blob) instanceof Error));
}

/** The types of all keys of an agent; none where no agent answers. */
export async function agentKeyTypes(socket: string): Promise<readonly string[]> {
  return ((await blobsOfAgent(socket)) ?? []).map(typeOfBlob);
}

/**
 * An agent that offers these keys alone, in this order.
 *
 * @param onSigning called with true when it is asked to sign, and with false when it has answered
 */
export function agentWith(
  socket: string,
  wanted: readonly Buffer[],
  onSigning: (isAsked: boolean) => void,
): ssh2.BaseAgent {
  const agent = new ssh2.OpenSSHAgent(socket);
  const open = agent.getStream.bind(agent);
  // An agent that never answers does not hold the process.
  agent.getStream = (callback) =>
    open((error, stream) => {
      if (stream instanceof Socket) stream.unref();
      callback(error, stream);
    });
  const all = agent.getIdentities.bind(agent);
  agent.getIdentities = (callback) =>
    all((error, keys) => {
      const inOrder = wanted.flatMap((blob) => keys?.find((key) => blob.equals(blobOfIdentity(key))) ?? []);
      callback(error, inOrder as typeof keys);
    });
  const sign = agent.sign.bind(agent);
  // The library gives all four.
  agent.sign = ((
    key: Buffer,
    data: Buffer,
    options: ssh2.SigningRequestOptions,
    answer: ssh2.SignCallback,
  ) => {
    onSigning(true);
    return sign(key, data, options, (...answered) => {
      onSigning(false);
      answer(...answered);
    });
  }) as typeof agent.sign;
  return agent;
}

function blobOfIdentity(key: ssh2.KnownPublicKeys<ParsedKey>[number]): Buffer {
  return publicBlob('getPublicSSH' in key ? key : (key.pubKey as ParsedKey));
}

/** The request for all keys of an agent, and the type of its answer (draft-miller-ssh-agent, 4.4). */
const listRequest = Buffer.from([0, 0, 0, 1, 11]);
const listAnswer = 12;

/** An agent on this machine answers within some milliseconds, or is not there. */
const agentLimit = 5000;

/**
 * All public keys of an agent. The SSH library would wait for ever for one that accepts a connection
 * and does not answer.
 *
 * @returns undefined where no agent answers
 */
async function blobsOfAgent(socket: string): Promise<readonly Buffer[] | undefined> {
  return new Promise((resolve) => {
    let answer = Buffer.alloc(0);
    const agent = connect(socket, () => agent.write(listRequest));
    const end = () => {
      agent.destroy();
      resolve(answer[4] === listAnswer ? blobsIn(answer.subarray(9)) : undefined);
    };
    agent.setTimeout(agentLimit, end);
    agent.on('error', end).on('end', end);
    agent.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length >= 4 && answer.length >= 4 + answer.readUInt32BE(0)) end();
    });
  });
}

/** Keys that follow one another, each with its comment. */
function blobsIn(keys: Buffer): readonly Buffer[] {
  const blobs: Buffer[] = [];
  for (let left = keys; left.length > 0; ) {
    const { fields, rest } = sshKeyFields(left, 2);
    blobs.push(fields[0] ?? Buffer.alloc(0));
    left = rest;
  }
  return blobs;
}
