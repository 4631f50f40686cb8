import type { Reader } from '../../host/host.ts';

/**
 * The local users. The file is read and not `getent`, which waits for a directory service that
 * does not answer.
 */
export async function localUsers(host: Reader) {
  return (await fields(host, '/etc/passwd')).map(([name = '', , uid, gid, , home = '', shell = '']) => ({
    name,
    uid: Number(uid),
    gid: Number(gid),
    home,
    shell,
  }));
}

/** The local groups. `members` leaves out users who have one as their main group. */
export async function localGroups(host: Reader) {
  return (await fields(host, '/etc/group')).map(([name = '', , gid, members = '']) => ({
    name,
    gid: Number(gid),
    members: members.split(',').filter(Boolean),
  }));
}

async function fields(host: Reader, path: string): Promise<string[][]> {
  const text = (await host.read(path))?.toString() ?? '';
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(':'));
}
