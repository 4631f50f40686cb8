// Users and groups of this machine, from its files. They are read only where a file is not plainly
// our own.
import { readFileSync } from 'node:fs';

/**
 * The fields of each line.
 *
 * @param {string} file
 * @returns {string[][]}
 */
function entriesOf(file) {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.split(':'));
  } catch {
    return [];
  }
}

/** @type {{ users: string[][], groups: string[][] } | undefined} */
let known;

function accounts() {
  known ??= { users: entriesOf('/etc/passwd'), groups: entriesOf('/etc/group') };
  return known;
}

/**
 * @param {number} uid
 * @returns {string | undefined}
 */
export function nameOfUser(uid) {
  return accounts().users.find(([, , number]) => number === String(uid))?.[0];
}

/**
 * @param {number} gid
 * @returns {string | undefined}
 */
export function nameOfGroup(gid) {
  return accounts().groups.find(([, , number]) => number === String(gid))?.[0];
}

/**
 * Whether a group is the private one of a user: the user's primary group, of the user's name,
 * without another member. Debian, Ubuntu and Fedora make one for each user, with a umask of 002,
 * so what these users write can be changed by that group. Root has the umask 022 everywhere, and
 * its group has members on some systems.
 *
 * @param {number} gid
 * @param {readonly number[]} users their numbers
 */
export function inPrivateGroup(gid, users) {
  return users.some((uid) => uid !== 0 && isPrivateOf(String(gid), String(uid)));
}

/**
 * @param {string} gid
 * @param {string} uid
 */
function isPrivateOf(gid, uid) {
  const { users, groups } = accounts();
  const own = users.filter(([, , number]) => number === uid);
  const isShared = users.some(([, , number, primary]) => primary === gid && number !== uid);
  const entries = groups.filter(([, , number]) => number === gid);
  if (
    isShared ||
    entries.some(([, , , members = '']) =>
      members.split(',').some((name) => name !== '' && name !== own[0]?.[0]),
    )
  )
    return false;
  if (own.length > 0 && entries.length > 0)
    return own.some(([name, , , primary]) => primary === gid && entries.every(([group]) => group === name));
  // In a container neither has to have an entry. Then the number is all that is known, and useradd
  // gives both the same.
  return own.length + entries.length === 0 && uid === gid && gid === String(process.getegid?.());
}
