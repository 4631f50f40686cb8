import { createHash, createPublicKey, verify } from 'node:crypto';
import { fieldsOf } from '../../engine/text/keys.ts';

// The format: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md

/** The media type of the manifest that holds signatures. */
export const signatureManifest = 'application/vnd.oci.image.manifest.v1+json';
/** The media type of what is signed. */
export const signedPayload = 'application/vnd.dev.cosign.simplesigning.v1+json';

const signatureKey = 'dev.cosignproject.cosign/signature';
const payloadType = 'cosign container image signature';

/** One signature of an image. */
export interface ImageSignature {
  /** `sha256:…` of what is signed, which is an object of the registry. */
  readonly payload: string;
  /** Of ECDSA P-256 with SHA-256, in DER. */
  readonly signature: Buffer;
}

/** The tag of the manifest with the signatures of an image, by the image's digest. */
export function signatureTag(digest: string): string {
  return `${digest.replace(':', '-')}.sig`;
}

/** The signatures of a manifest. It leaves out layers without a signature. */
export function signaturesOf(manifest: Buffer): ImageSignature[] {
  const { layers } = fieldsOf(parsed(manifest));
  return (Array.isArray(layers) ? layers : []).flatMap((layer: unknown) => {
    const { mediaType, digest, annotations } = fieldsOf(layer);
    const signature = fieldsOf(annotations)[signatureKey];
    const isOne = mediaType === signedPayload && typeof signature === 'string';
    if (!isOne || typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest)) return [];
    return { payload: digest, signature: Buffer.from(signature, 'base64') };
  });
}

/**
 * The digest of the image that a signature is for.
 *
 * @param payload the bytes that the registry has for the signature's payload
 * @param key public, of ECDSA P-256, in PEM
 * @returns undefined where the payload is another one, or its signature is not by the key
 */
export function signedDigest(
  { payload: digest, signature }: ImageSignature,
  payload: Buffer,
  key: string,
): string | undefined {
  if (digest !== `sha256:${createHash('sha256').update(payload).digest('hex')}`) return undefined;
  if (!verify('sha256', payload, createPublicKey(key), signature)) return undefined;
  const { critical } = fieldsOf(parsed(payload));
  const { image, type } = fieldsOf(critical);
  const signed = fieldsOf(image)['docker-manifest-digest'];
  return type === payloadType && typeof signed === 'string' ? signed : undefined;
}

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}
