import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Does something as another user of this machine. Needs root. */
export function asUser<T>(uid: number, work: () => T, gid = uid): T {
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}

/**
 * Makes a file of a user, with its folders. Needs root.
 *
 * @returns its path
 */
export function putFile(
  path: string,
  { text, mode, uid, gid = uid }: Readonly<{ text: string; mode: number; uid: number; gid?: number }>,
): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chownSync(path, uid, gid);
  chmodSync(path, mode);
  return path;
}

/**
 * Gives a path an access list that lets one more user in. Node cannot do that, and setfacl is
 * missing on many machines: needs Python.
 *
 * @param list `access` for the path itself, `default` for what is made in a folder
 * @param uid who may do as much as the owner
 * @param bits of the owner, of the group and of all others: 0o764
 */
export function giveAccessList(path: string, list: 'access' | 'default', uid: number, bits: number): void {
  const [owner, group, others] = [bits >> 6, (bits >> 3) & 7, bits & 7];
  // The lines u::, u:UID:, g::, m:: and o::, as setfacl writes them. -1: the line names nobody.
  const entries = `[(1, ${owner}, -1), (2, ${owner}, ${uid}), (4, ${group}, -1), (16, ${owner}, -1), (32, ${others}, -1)]`;
  const value = `struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *entry) for entry in ${entries})`;
  const script = `import os, struct, sys; os.setxattr(sys.argv[1], 'system.posix_acl_${list}', ${value})`;
  execFileSync('python3', ['-c', script, path]);
}
