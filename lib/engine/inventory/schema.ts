import { isIP, isIPv4 } from 'node:net';
import * as z from 'zod';
import { notOneHost, usualAddress } from './address.ts';
import { parseJump } from './jump-host.ts';
import {
  secretReferenceKinds,
  secretReferencePattern,
  secretReferenceRule,
  secretTextPattern,
  secretTextRule,
} from './secret-reference.ts';

// zod compiles code for each schema. A run reads a file once, so that takes 35 ms of processor time
// and never pays.
z.config({ jitless: true });

/** A name that is safe as a folder, in a command and in a log. */
export const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Continues the word name. */
export const nameRule = 'must start with a letter or digit and hold only letters, digits, . _ -';

/**
 * Text of a pattern.
 *
 * @param rule the message, which continues the name of the key: `must be a user name`
 * @param title the type in reference tables
 */
export function matching(pattern: RegExp, rule: string, title: string): z.ZodString {
  return z.string().regex(pattern, { error: rule, abort: true }).meta({ title });
}

export const portSchema = z.int().min(1).max(65535).meta({ title: 'port' });

export const secretReferenceSchema = matching(
  secretReferencePattern,
  secretReferenceRule,
  'secret reference',
);

export const secretTextSchema = matching(
  secretTextPattern,
  secretTextRule,
  'secret reference, or text with some',
);

// ssh_config may pass a user to a shell (`Match exec`, `%r`), so it has no character that a shell
// interprets.
const user = matching(
  /^[A-Za-z0-9_.][A-Za-z0-9_.@+\\-]*$/,
  'must be a user name of letters, digits and . _ @ + \\ -',
  'user name',
);
const jump = matching(
  /^([A-Za-z0-9_.][A-Za-z0-9_.@+\\-]*@)?([A-Za-z0-9][A-Za-z0-9._-]*|\[[A-Za-z0-9:.%-]+\])(:\d{1,5})?$/,
  'must be a jump host, user@host:port',
  'jump host',
).refine(
  (text) => parseJump(text) !== undefined,
  'must be a jump host, user@host:port, with a port from 1 to 65535',
);
const hostKey = matching(
  /^(ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+=*( .*)?$/,
  'must be a key as in known_hosts, such as ssh-ed25519 AAAA…',
  'public key',
);
/**
 * A host name or an IP address, without characters that a shell, a log or a configuration file
 * interprets.
 */
export const addressSchema = matching(
  /^(?=.*[A-Za-z0-9])[A-Za-z0-9:][A-Za-z0-9._:-]*$/,
  'must be a host name or an IP address',
  'host name or IP address',
)
  .refine((text) => !/^[0-9.]+$/.test(text) || isIPv4(text), {
    error: 'must be an IPv4 address of four numbers, each at most 255',
    abort: true,
  })
  .refine((text) => !text.includes(':') || isIP(text) !== 0, {
    error:
      'must be a host name or an IP address, without a port\nport has a key of its own: { address: …, port: 2222 }',
    abort: true,
  })
  .refine((text) => notOneHost(text) === undefined, {
    error: ({ input }) => `must be the address of one host, and ${input} is ${notOneHost(String(input))}`,
    abort: true,
  })
  .refine((text) => !/^::ffff:/i.test(text) || isIP(usualAddress(text)) !== 4, {
    error: ({ input }) => `is an IPv4 address in the notation of IPv6: write ${usualAddress(String(input))}`,
  });

const path = z.string().min(1).meta({ title: 'path' });
const oneOrMore = (item: z.ZodString) => z.union([item, z.array(item).min(1)]);

const sshSettings = {
  user: user
    .optional()
    .describe("User to log in as; a user other than root uses sudo. Default: the operator's ssh_config"),
  port: portSchema
    .optional()
    .describe("TCP port of its SSH server. Default: the operator's ssh_config, or 22"),
  identity_file: path
    .optional()
    .describe("Private key, relative to this file. Default: the operator's ssh_config and agent"),
  known_hosts: path
    .optional()
    .describe("Known host keys, relative to this file. Default: the operator's known_hosts"),
  jump: oneOrMore(jump)
    .refine((jumps) => jumps === 'none' || ![jumps].flat().includes('none'), {
      error: 'must be jump hosts, or the word none alone, without a list',
    })
    .optional()
    .describe(
      "Jump hosts in order, user@host:port, one or a list; none for a host that is reached without. Default: the operator's ssh_config",
    ),
  client: z
    .enum(['openssh'])
    .optional()
    .describe(
      'The client that connects: openssh. Default: OpenSSH where ssh_config, keys or the server need it, and else the SSH library',
    ),
  become_password: secretReferenceSchema
    .optional()
    .describe(`Where the password for sudo is: ${secretReferenceKinds}`),
};

const sshSchema = z.strictObject(sshSettings).describe('Defaults for the connection to every host');

export const hostSchema = z.strictObject({
  address: addressSchema.describe('Host name or IP address: for SSH, and where the other hosts reach it'),
  ...sshSettings,
  host_key: oneOrMore(hostKey)
    .optional()
    .describe('The host key or keys to accept, as in known_hosts. Default: those of known_hosts'),
  connection: z
    .enum(['ssh', 'local'])
    .optional()
    .describe('Connection: ssh, or local for the machine that runs the playbook. Default: ssh'),
  region: z.string().min(1).optional().describe('Region of the host; short for vars.region'),
  vars: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Variables that differ for this host, over all others'),
});

const name = z.string().regex(namePattern, nameRule);

/** What a group has beside its hosts, whose names are checked where they are read. */
export const groupSchema = z
  .object({
    vars: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'Variables of all hosts of the group, over those of all hosts and of groups that it is within',
      ),
    hosts: matching(
      /^cmd:.*\S/,
      'must be cmd:COMMAND, a shell command of this machine that prints a JSON object of hosts',
      'command',
    )
      .optional()
      .describe('Further hosts: cmd:COMMAND, a shell command that prints { "NAME": { "address": "…" } }'),
    children: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('Groups whose hosts are in this group, too'),
  })
  // A host without a value has its settings in another group.
  .catchall(hostSchema.nullable());

/** An inventory without its variables, which have a schema of their own. */
export const inventorySchema = z.strictObject({
  vars_files: z
    .array(path)
    .optional()
    .describe(
      'Files of variables, relative to this file: each overrides those before it, and vars overrides all',
    ),
  ssh: sshSchema.optional(),
  vars: z.record(z.string(), z.unknown()).optional().describe('Variables of all hosts'),
  groups: z.record(name, groupSchema).describe('Hosts by group'),
});

export type SshSettings = z.output<typeof sshSchema>;
export type HostSettings = z.output<typeof hostSchema>;
