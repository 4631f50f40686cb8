import * as z from 'zod';
import { matching, secretReferenceSchema } from '../../engine/inventory/schema.ts';
import { secretReferenceKinds } from '../../engine/inventory/secret-reference.ts';
import { Secret } from '../../engine/secret/secret.ts';
import * as types from './value-types.ts';

/**
 * A bucket, and a name in it, of characters that stand for themselves in an address and in a
 * signature: `s3://bucket/snapshots/today`.
 */
const storageAddress = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/(?!\.\.?(?:\/|$))[\w.~-]+)+)$/;

const storageAddressRule =
  'must be a bucket and a name in it, s3://bucket/folder: letters, digits and . _ ~ - alone, and no / at its end';

/** Whether an address is of a storage, right or wrong. */
export const isOfStorage = (address: string) => /^s3:/i.test(address);

/** A folder in a storage. */
export const storageFolder = matching(storageAddress, storageAddressRule, 's3://bucket/folder');

/**
 * A web address, or a name in a storage.
 *
 * @param path the rule of a path on the server, where it may be one too
 */
export const orInStorage = (web: z.ZodType<string>, path?: z.ZodType<string>) =>
  z
    .string()
    .check(({ value, issues }) => {
      const stored = isOfStorage(value) ? matching(storageAddress, storageAddressRule, '') : undefined;
      const rule = stored ?? (/^\w+:/.test(value) ? undefined : path) ?? web;
      for (const { message } of rule.safeParse(value).error?.issues ?? [])
        issues.push({ code: 'custom', input: value, message });
    })
    .meta({ title: path ? 'web address, s3://bucket/name or path' : 'web address, or s3://bucket/name' });

const keyRule = 'with read access; to take a snapshot or copy backups, with write access too';

/** A storage that speaks S3, and the keys for it. */
export const s3Schema = z.strictObject({
  endpoint: types.downloadAddress
    .regex(
      /^[^/]*\/\/[^/?#]*\/?$/,
      'must be scheme, host and port alone: the bucket is in s3://bucket/folder',
    )
    .describe('Web address of the storage, without a bucket, such as https://s3.eu-central-1.amazonaws.com'),
  region: matching(/^[a-z0-9][a-z0-9-]*$/, 'must be of small letters, digits and -', 'region')
    .default('us-east-1')
    .describe('Region that requests are signed for; a storage without regions takes the default'),
  path_style: z
    .boolean()
    .default(true)
    .describe(
      'Whether the bucket is in the path of an address (https://storage.example/bucket); false: it is in its host name (https://bucket.storage.example)',
    ),
  access_key: secretReferenceSchema.describe(`Where the access key is, ${keyRule}: ${secretReferenceKinds}`),
  secret_key: secretReferenceSchema.describe(`Where its secret key is: ${secretReferenceKinds}`),
  session_token: secretReferenceSchema
    .optional()
    .describe(`Where the session token of temporary keys is: ${secretReferenceKinds}`),
});

export const s3Secrets = ['access_key', 'secret_key', 'session_token'] as const;

/** A storage with its keys. */
export interface Storage extends Omit<z.output<typeof s3Schema>, (typeof s3Secrets)[number]> {
  readonly access_key: Secret;
  readonly secret_key: Secret;
  readonly session_token?: Secret;
}

/**
 * The web address of a file in a storage; any other address as it is.
 *
 * @param address `s3://bucket/name`
 */
export function webAddress(address: string, storage: Storage | undefined): string {
  const [, bucket = '', name = ''] = storageAddress.exec(address.replace(/\/$/, '')) ?? [];
  if (bucket === '' || !storage) return address;
  const url = new URL(storage.endpoint);
  const end = address.endsWith('/') ? '/' : '';
  return storage.path_style
    ? `${url.origin}/${bucket}${name}${end}`
    : `${url.protocol}//${bucket}.${url.host}${name}${end}`;
}

/** A folder in a storage: the web address of its bucket, and its name there with a slash at the end. */
export function inBucket(
  address: string,
  storage: Storage,
): { readonly bucket: string; readonly prefix: string } {
  const [, bucket = '', name = ''] = storageAddress.exec(address.replace(/\/$/, '')) ?? [];
  const root = webAddress(`s3://${bucket}/x`, storage).slice(0, -2);
  return { bucket: storage.path_style ? root : `${root}/`, prefix: `${name.slice(1)}/` };
}

/** The settings of curl that sign requests for a storage. */
export function signing({ region, access_key, secret_key, session_token }: Storage): Secret {
  const quoted = (text: string) => `"${text.replaceAll(/[\\"]/g, '\\$&')}"`;
  const token = session_token
    ? `header = ${quoted(`x-amz-security-token: ${session_token.reveal()}`)}\n`
    : '';
  return new Secret(
    `aws-sigv4 = ${quoted(`aws:amz:${region}:s3`)}\nuser = ${quoted(`${access_key.reveal()}:${secret_key.reveal()}`)}\n${token}`,
  );
}
