import type { Secret } from '../../secret/secret.ts';
import { shellRanNothing, Unreachable } from '../connection-errors.ts';
import type { Transport } from './transport.ts';

/** How a command gets root's rights: what stands before it, and the password that sudo reads first, if it wants one. */
export interface Become {
  readonly prefix: string;
  readonly password: Secret | undefined;
}

/** For a login shell's start-up files, and for sudo's own wait after a wrong password. Seconds. */
const answerLimit = 30;

/** The login already has root's rights. */
export const noBecome: Become = { prefix: '', password: undefined };
const sudo: Become = { prefix: 'sudo -n ', password: undefined };

/** `-k` makes sudo ask every time: a remembered password would leave the line with ours to the script. */
const withPassword = (password: Secret): Become => ({ prefix: `sudo -k -S -p '' `, password });

/**
 * Finds how root's rights are had on a host. For anybody but root it is tried once, here, so that a later failure is the
 * command's own and a wrong password is tried no more than once.
 *
 * @param user who logged in; undefined where that is not known
 * @throws Unreachable with what sudo said and what to do about it
 */
export async function findBecome(
  name: string,
  transport: Transport,
  user: string | undefined,
  password: Secret | undefined,
): Promise<Become> {
  if (user === 'root') return noBecome;
  const run = (command: string, input?: string) =>
    transport.run(`env LC_ALL=C sh -c '${command}'`, input === undefined ? undefined : Buffer.from(input), () => {}, {
      seconds: answerLimit,
    });

  const first = await run('echo "uid $(id -u)";[ "$(id -u)" = 0 ]||sudo -k -n sh -c "echo becomes root"');
  const said = first.stdout.toString();
  if (!said.includes('uid ')) throw shellRanNothing(name, first.code, first.stdout, first.stderr);
  if (said.includes('uid 0\n')) return noBecome;
  if (said.includes('becomes root')) return sudo;
  if (!password) throw refused(name, user, first.stderr.toString(), false);

  const second = await run(`sudo -k -S -p "" sh -c "echo becomes root"`, `${password.reveal()}\n`);
  if (second.stdout.toString().includes('becomes root')) return withPassword(password);
  throw refused(name, user, second.stderr.toString(), true);
}

function refused(name: string, user: string | undefined, stderr: string, triedPassword: boolean): Unreachable {
  const who = user ?? 'the user';
  const said = stderr.trim().split('\n').at(-1) ?? '';
  if (/must have a tty/.test(stderr)) {
    return new Unreachable(
      name,
      `sudo wants a terminal for ${who}, and none is used here`,
      `put this into /etc/sudoers.d/ there: Defaults:${who} !requiretty`,
    );
  }
  if (/not in the sudoers|not allowed to (execute|run)|may not run sudo/.test(stderr)) {
    return new Unreachable(name, `${who} may not become root with sudo`, `allow it there, or log in as a user who may`);
  }
  if (/sudo: (command )?not found|sudo: No such file/.test(stderr)) {
    return new Unreachable(
      name,
      `${who} is not root, and sudo is not installed`,
      'install sudo there, or log in as root',
    );
  }
  if (triedPassword) {
    return new Unreachable(
      name,
      `sudo did not take the password of ${who}${/incorrect|try again|no password/i.test(stderr) ? '' : `: ${said}`}`,
      'check become_password in the inventory',
    );
  }
  if (/password is required|authentication is required/.test(stderr)) {
    return new Unreachable(
      name,
      `sudo wants a password of ${who}`,
      'give become_password for this host in the inventory, or allow sudo without a password there',
    );
  }
  return new Unreachable(
    name,
    `${who} could not become root${said ? `: ${said}` : ''}`,
    'try `sudo -n true` there by hand',
  );
}
