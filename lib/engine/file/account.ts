import { type UserInfo, userInfo } from 'node:os';
import { Problem } from '../problem/problem.ts';

/**
 * The account of this process.
 *
 * @throws Problem where its number has no entry, as in a container that runs as somebody of
 * another machine
 */
export function account(): UserInfo<string> {
  try {
    return userInfo();
  } catch {
    throw new Problem(`user number ${process.getuid?.()} has no entry in /etc/passwd, and ssh needs one`, {
      hint: 'in a container: -v /etc/passwd:/etc/passwd:ro',
    });
  }
}
