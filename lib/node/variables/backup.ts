import * as z from 'zod';
import { matching, secretReferenceSchema } from '../../engine/inventory/schema.ts';
import { secretReferenceKinds } from '../../engine/inventory/secret-reference.ts';
import { s3Schema, storageFolder } from './s3.ts';
import * as types from './value-types.ts';

/** Variables of the host in group `backup`, and of the server that it copies. */
export const backupSchema = {
  password: secretReferenceSchema
    .optional()
    .describe(
      `Where the password of the role that copies the database server is, needed with a host in group backup: ${secretReferenceKinds}`,
    ),
  keep_days: types
    .whole(1, 3650)
    .default(7)
    .describe('The databases can be recovered as they were at any moment of this many days'),
  every_hours: types.whole(1, 720).default(24).describe('Hours between two base backups'),
  most_kept: types.memory(
    '64GB',
    'Most write-ahead log that the database server keeps for a backup host or a replica that does not fetch it; then the server drops it and goes on',
  ),
  drill_hours: types
    .whole(0, 8760)
    .default(0)
    .describe('Hours between two recovery drills on the backup host; 0: none by itself'),
  copy_to: storageFolder
    .optional()
    .describe(
      'Folder in a storage, s3://bucket/folder, to which the backup host copies base backups and write-ahead log; each deployment needs one of its own. Default: nothing is copied',
    ),
  s3: s3Schema.optional().describe('The storage of copy_to, and the keys for it'),
  recipients: z
    .array(
      matching(
        /^age1[02-9ac-hj-np-z]{58}$/,
        'must be a public key of age, age1… with 62 characters, as age-keygen makes it',
        'public key of age',
      ),
    )
    .optional()
    .describe(
      'Public keys of age for which what is copied is encrypted, beside that of identity. Default without both: it is copied as it is',
    ),
  identity: secretReferenceSchema
    .optional()
    .describe(
      `Where a private key of age is (AGE-SECRET-KEY-1…), with which a recovery reads what was copied; its public key is a recipient, too, and it is on no host but during such a recovery: ${secretReferenceKinds}`,
    ),
};
