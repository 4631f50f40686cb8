import { execFileSync } from 'node:child_process';

const homes = new Map<string, string>();

/**
 * The home of a user of this machine. A shell knows it from wherever ssh does: a file, or a
 * directory service.
 *
 * @returns `~user` for an unknown user
 */
export function homeOf(user: string): string {
  const known = homes.get(user);
  if (known !== undefined) return known;
  // A shell expands a name of these characters alone.
  const isName = /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(user);
  const home = isName ? execFileSync('sh', ['-c', `printf %s ~${user}`], { encoding: 'utf8' }) : `~${user}`;
  homes.set(user, home);
  return home;
}
