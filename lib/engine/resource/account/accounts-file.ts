import type { Reader } from '../../host/host.ts';

/** An entry of /etc/passwd. */
interface LocalUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

/** An entry of /etc/group. `members` leaves out users who have it as their main group. */
interface LocalGroup {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

/** The local users. The file is read and not `getent`, which waits for a directory service that does not answer. */
export async function localUsers(host: Reader): Promise<LocalUser[]> {
  return (await fields(host, '/etc/passwd')).map(([name = '', , uid, gid, , home = '', shell = '']) => ({
    name,
    uid: Number(uid),
    gid: Number(gid),
    home,
    shell,
  }));
}

/** The local groups. */
export async function localGroups(host: Reader): Promise<LocalGroup[]> {
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
