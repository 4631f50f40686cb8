import { isIPv4 } from 'node:net';
import * as z from 'zod';
import { secretReferenceKinds, secretReferencePattern, secretReferenceRule } from './secret-reference.ts';

/** A name that is safe as a folder, in a command and in a log. */
export const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

const port = z.int().min(1).max(65535).meta({ title: 'port' });
/** ssh_config may give it to a shell (`Match exec`, `%r`), so nothing may stand in it that one would take for more. */
const user = z
  .string()
  .regex(/^[A-Za-z0-9_.][A-Za-z0-9_.@+\\-]*$/, 'must be a user name of letters, digits and . _ @ + \\ -')
  .meta({ title: 'user name' });
const jump = z
  .string()
  .regex(
    /^([A-Za-z0-9_.][A-Za-z0-9_.@+\\-]*@)?([A-Za-z0-9][A-Za-z0-9._-]*|\[[A-Za-z0-9:.%-]+\])(:\d{1,5})?$/,
    'must be a jump host, user@host:port',
  )
  .meta({ title: 'jump host' });
/** A host name or an IP address, with nothing in it that a shell, a log or a configuration file could take for more. */
export const addressSchema = z
  .string()
  .regex(/^(?=.*[A-Za-z0-9])[A-Za-z0-9:][A-Za-z0-9._:-]*$/, 'must be a host name or an IP address')
  .refine(
    (text) => !/^[0-9.]+$/.test(text) || isIPv4(text),
    'must be an IPv4 address of four numbers, each at most 255',
  )
  .meta({ title: 'host name or IP address' });

const address = addressSchema.describe('Host name or IP address: for SSH, and where the other hosts reach it');
const path = z.string().min(1).meta({ title: 'path' });
const oneOrMore = (item: z.ZodString) => z.union([item, z.array(item).min(1)]);
const hostKey = z
  .string()
  .regex(
    /^(ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+=*( .*)?$/,
    'must be a key as in known_hosts, such as ssh-ed25519 AAAA…',
  )
  .meta({ title: 'public key' });

const sshSettings = {
  user: user
    .optional()
    .describe("User to log in as; what is not root becomes root by sudo. Default: the operator's ssh_config"),
  port: port.optional().describe("TCP port of its SSH server. Default: the operator's ssh_config, or 22"),
  identity_file: path
    .optional()
    .describe("Private key, relative to this file. Default: the operator's ssh_config and agent"),
  known_hosts: path
    .optional()
    .describe("Known host keys, relative to this file. Default: the operator's own known_hosts"),
  jump: oneOrMore(jump)
    .optional()
    .describe("Jump hosts in order, user@host:port, one or a list. Default: the operator's ssh_config"),
  become_password: z
    .string()
    .regex(secretReferencePattern, secretReferenceRule)
    .meta({ title: 'secret reference' })
    .optional()
    .describe(`Where the password for sudo is: ${secretReferenceKinds}`),
};

export const sshSchema = z.strictObject(sshSettings).describe('Defaults for the connection to every host');

export const hostSchema = z.strictObject({
  address,
  ...sshSettings,
  host_key: oneOrMore(hostKey)
    .optional()
    .describe('The host key or keys to accept, as in known_hosts. Default: what known_hosts has'),
  connection: z
    .enum(['ssh', 'local'])
    .optional()
    .describe('How to reach it: ssh, or local for the machine that the playbook runs on. Default: ssh'),
  region: z.string().min(1).optional().describe('Region in which the host stands; short for vars.region'),
  vars: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Variables that differ for this host, laid over all others'),
});

const name = z.string().regex(namePattern, 'must start with a letter or digit and hold only letters, digits, . _ -');

/** All of an inventory but its variables, whose schema the deployment brings. */
export const inventorySchema = z.strictObject({
  vars_files: z
    .array(path)
    .optional()
    .describe('Files of variables, relative to this file: each is laid over those before it, and vars over all'),
  ssh: sshSchema.optional(),
  vars: z.record(z.string(), z.unknown()).optional().describe('Variables of all hosts'),
  groups: z.record(name, z.record(name, hostSchema)).describe('Hosts by group'),
});

export type SshSettings = z.output<typeof sshSchema>;
export type HostSettings = z.output<typeof hostSchema>;
