import { spawn } from 'node:child_process';
import type { Reader } from '../../host/host.ts';
import { Output } from '../../host/output.ts';
import { readScript } from '../../host/script.ts';
import type { Secret } from '../../secret/secret.ts';
import { type HttpAnswer, readHttpAnswer } from './http.ts';

const template = (name: string) => new URL(`../../../../templates/host/${name}.sh`, import.meta.url);
const script = readScript(template('fetch'), template('ask-storage'));
const listScript = readScript(template('fetch'), template('storage-folder'), template('list-storage'));

/** A file or a folder in an S3-compatible storage. */
export interface StoredFile {
  readonly url: string;
  /** Its name in messages, `s3://bucket/name`. */
  readonly shown: string;
  /** Settings of curl that sign the request. */
  readonly signing: Secret;
}

/**
 * Asks for the first bytes of a file in a storage, from the host, by its curl.
 *
 * @param length bytes
 * @param seconds time limit
 * @returns the answer; or the reason and the remedy, in one text. From a host without curl the
 * status is undefined
 */
export async function askStorage(
  host: Reader,
  { url, shown, signing }: StoredFile,
  length: number,
  seconds: number,
): Promise<HttpAnswer> {
  const output = await host.$({ stdin: signing, timeoutSeconds: 3 * seconds + 2 })`
    sh -c ${script} ask-storage ${shown} ${url} ${length} ${seconds}`;
  return read(output, shown, length);
}

/** So many names a storage lists at once, those that come first. */
export const mostListed = 1000;

/**
 * The names below a folder of a storage, from the host; at most `mostListed`.
 *
 * @param folder with the URL of its bucket
 * @param prefix the folder in the bucket, with a slash at its end
 * @param named the key of the inventory that names the storage
 * @returns the bytes of each name, in the order of the names; or the reason and the remedy, in one
 * text
 */
export async function listStorage(
  host: Reader,
  { url, shown, signing }: StoredFile,
  prefix: string,
  seconds: number,
  named: string,
): Promise<ReadonlyMap<string, number> | string> {
  const output = await host.$({ stdin: signing, timeoutSeconds: seconds + 2 })`
    sh -c ${listScript} list-storage ${shown} ${url} ${prefix} ${seconds} ${named}`;
  if (output.ok)
    return new Map(
      output.lines().map((line) => {
        const [bytes = ''] = line.split(' ', 1);
        return [line.slice(bytes.length + 1), Number(bytes)];
      }),
    );
  return (
    output.stderr.trim().split('\n').at(-1)?.replace(`${shown}: `, '') ||
    'the storage does not answer in time'
  );
}

/** Asks as `askStorage` does, from this machine. */
export async function askStorageFromHere(
  { url, shown, signing }: StoredFile,
  length: number,
  seconds: number,
): Promise<HttpAnswer> {
  const child = spawn('sh', ['-c', script, 'ask-storage', shown, url, String(length), String(seconds)], {
    timeout: (3 * seconds + 2) * 1000,
  });
  const collect = async (stream: AsyncIterable<Buffer>) => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  child.stdin.on('error', () => {});
  child.stdin.end(signing.reveal());
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [bytes, words, code] = await Promise.all([collect(child.stdout), collect(child.stderr), ended]);
  return read(new Output(code, bytes, words.toString()), shown, length);
}

function read(output: Output, shown: string, length: number): HttpAnswer {
  if (output.timedOut) return { answered: false, why: 'the storage does not answer in time' };
  const answer = readHttpAnswer(output.bytes, output.stderr, length);
  return answer.answered ? answer : { ...answer, why: answer.why.replace(`${shown}: `, '') };
}
