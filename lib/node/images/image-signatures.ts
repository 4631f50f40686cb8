import type { Reader } from '../../engine/host/host.ts';
import { readScript } from '../../engine/host/script.ts';
import { dockerImage, type ImagePin } from '../../engine/resource/docker/docker-image.ts';
import { type HttpAnswer, readHttpAnswer } from '../../engine/resource/network/http.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  refused,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';
import {
  type ImageSignature,
  signatureManifest,
  signaturesOf,
  signatureTag,
  signedDigest,
  signedPayload,
} from './cosign.ts';
import { certificatesOf, type ImageSource, imageSource } from './registry.ts';

const script = readScript(new URL('../../../templates/host/ask-registry.sh', import.meta.url));

/** Bytes. A manifest with hundreds of signatures is smaller. */
const longest = 1024 * 1024;
/** Signatures that are looked at. A tag to which anybody may push could have any number. */
const most = 20;
/** For one answer. Seconds. */
const answerLimit = 20;

const hint =
  'the image has not been pulled; get digest and key from the publisher of the image, and try: cosign verify --key cosign.pub NAME@DIGEST';

/** An image that can have a key. */
export type Signed = keyof NonNullable<Variables['image_keys']>;

/**
 * The images whose key the inventory has are signed by it. Each run asks their registry for the
 * signatures that cosign has put beside them.
 *
 * @param names of images that the host uses
 */
export function imagesAreSigned(vars: Variables, names: readonly Signed[]): Resource[] {
  const { image_keys: keys = {}, images } = vars;
  return names.flatMap((name) => {
    const key = keys[name];
    return key === undefined ? [] : isSigned(imageSource(vars, images[name]), name, key);
  });
}

/**
 * An image on the host. If the inventory has its key, the image is pulled only if this key has
 * signed it: its registry is asked for the signatures right before. An image that is there already
 * is not asked for.
 *
 * @param name whose key is used
 * @param reference as `dockerImage` takes it
 * @param pin of a release
 */
export function signedImage(
  vars: Variables,
  name: Signed,
  reference: string = vars.images[name],
  pin?: ImagePin,
): Resource {
  const image = dockerImage(reference, pin);
  const pulled = pulledName(reference, pin);
  const key = vars.image_keys?.[name];
  if (key === undefined || pulled === undefined) return image;
  const signed = isSigned(imageSource(vars, pulled), name, key);
  return {
    ...image,
    check: async (host) => {
      const [verdict, kept] = await Promise.all([image.check(host), isKept(host, pin)]);
      if (verdict.is !== 'drift' || kept) return verdict;
      const found = await signed.check(host);
      if (found.is !== 'drift') return found.is === 'ok' ? verdict : found;
      return refused(`${signed.name}: ${found.note}`, hint);
    },
  };
}

/** By which name an image is pulled; undefined where it cannot be. */
function pulledName(reference: string, pin?: ImagePin): string | undefined {
  return pin === undefined || reference.includes('@') ? reference : pin.digest;
}

/** An image that is there by its id gets its name back, and is not pulled. */
async function isKept(host: Reader, pin?: ImagePin): Promise<boolean> {
  return pin !== undefined && (await host.$`docker image inspect --format ${'{{.Id}}'} ${pin.id}`).ok;
}

function isSigned(source: ImageSource, name: Signed, key: string): Resource {
  return expectation(`images.${name} is signed by the key of image_keys.${name}`, {
    check: async (host) => {
      const { digest } = source;
      if (digest === undefined) return drift('its name has no digest, and a signature is of a digest');
      const object = `manifests/${signatureTag(digest)}`;
      const answer = await ask(host, source, object, signatureManifest);
      const refusal = answerProblem(answer, source);
      if (refusal) return refusal;
      const signatures = signaturesOf(answer.answered ? answer.body : Buffer.alloc(0)).slice(0, most);
      if (signatures.length === 0) return drift(`${source.registry} has no signature by cosign in ${object}`);
      return judge(await signedDigests(host, source, signatures, key), digest);
    },
    hint,
  });
}

/** What the signatures by the key are for. */
async function signedDigests(
  host: Reader,
  source: ImageSource,
  signatures: readonly ImageSignature[],
  key: string,
): Promise<string[]> {
  const digests = signatures.map(async (signature) => {
    const answer = await ask(host, source, `blobs/${signature.payload}`, signedPayload);
    return answer.answered && answer.status === 200 ? signedDigest(signature, answer.body, key) : undefined;
  });
  return (await Promise.all(digests)).filter((digest) => digest !== undefined);
}

function judge(signed: readonly string[], digest: string): Verdict {
  if (signed.includes(digest)) return ok;
  const [other] = signed;
  return drift(
    other === undefined
      ? 'none of its signatures is by this key'
      : `this key has signed only another image there: ${other}`,
  );
}

/** Why the manifest with the signatures is not there; undefined if it is. */
function answerProblem(answer: HttpAnswer, { registry, digest }: ImageSource): Verdict | undefined {
  if (!answer.answered) return drift(`${registry} does not answer: ${answer.why}`);
  if (answer.status === undefined) return unknownUntil('curl is installed');
  if (answer.status === 200) return undefined;
  if (answer.status === 404) return drift(`${registry} has no signature of ${digest}`);
  const login = [401, 403].includes(answer.status) ? ': it shows signatures only after a login' : '';
  return drift(`${registry} answers HTTP ${answer.status}${login}`);
}

async function ask(host: Reader, { registry, api, repository }: ImageSource, object: string, type: string) {
  const output = await host.$({ timeoutSeconds: 3 * answerLimit + 2 })`
    printf '%s\\n' ${`${api}/${repository}/${object}`} | sh -c ${script} ask-registry ${type} ${longest} ${answerLimit} ${certificatesOf(registry)}`;
  const why = output.timedOut ? `no answer within ${answerLimit} s` : output.stderr;
  return readHttpAnswer(output.bytes, why);
}
