import type { Secret } from '../../secret/secret.ts';
import { shellRanNothing, Unreachable } from '../connection-errors.ts';
import type { Transport } from './transport.ts';

/**
 * How a command becomes root: a prefix, and the password that sudo reads first, if it asks for
 * one.
 */
export interface Become {
  readonly prefix: string;
  readonly password: Secret | undefined;
}

/** Seconds for a login shell's start-up files, and for sudo's own wait after a wrong password. */
const answerLimit = 30;

/** The login user is root. */
const noBecome: Become = { prefix: '', password: undefined };

/**
 * Finds how to become root on a host. For any other user it is tried once, here: a later failure
 * is the command's own, and a wrong password is tried no more than once.
 *
 * @param user who logged in
 * @throws Unreachable with the output of sudo and what to do
 */
export async function findBecome(
  name: string,
  transport: Transport,
  user: string,
  password: Secret | undefined,
): Promise<Become> {
  if (user === 'root') return noBecome;
  const run = (command: string, input?: Buffer) =>
    transport.run(`env LC_ALL=C sh -c '${command}'`, input, { seconds: answerLimit });

  const first = await run(
    'echo "uid $(id -u)";[ "$(id -u)" = 0 ]||sudo -k -n sh -c "wc -c </dev/null&&echo becomes root"',
  );
  const printed = first.stdout.toString();
  if (!printed.includes('uid ')) throw shellRanNothing(name, first.code, first.stdout, first.stderr);
  if (printed.includes('uid 0\n')) return noBecome;
  if (printed.includes('becomes root')) return { prefix: 'sudo -n ', password: undefined };
  if (!password) throw refused(name, user, first.stderr.toString(), false);

  // -k makes sudo ask every time: with a remembered password, the line with ours would be left to the script.
  // A script follows the password, as it does later.
  const given = Buffer.from(`${password.reveal()}\n${'what follows\n'.repeat(1000)}`);
  const second = await run('sudo -k -S -p "" sh -c "echo becomes root;wc -c"', given);
  const [, arrived] = /becomes root\s+(\d+)/.exec(second.stdout.toString()) ?? [];
  if (arrived === undefined) throw refused(name, user, second.stderr.toString(), true);
  if (Number(arrived) === given.length - given.indexOf('\n') - 1)
    return { prefix: `sudo -k -S -p '' `, password };
  throw new Unreachable(
    name,
    'sudo there takes what follows the password on standard input (sudo-rs does), so no script can reach root',
    `allow ${user} sudo without a password there, or install the other sudo (package sudo)`,
  );
}

function refused(name: string, user: string, stderr: string, triedPassword: boolean): Unreachable {
  const fail = (what: string, hint: string) => new Unreachable(name, what, hint);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  if (/must have a tty/.test(stderr)) {
    return fail(
      `sudo requires a terminal for ${user}, and this connection has none`,
      `put this into /etc/sudoers.d/ there: Defaults:${user} !requiretty`,
    );
  }
  // As dash says it.
  if (/^sh: \d+: wc: Permission denied$/m.test(stderr)) {
    const hint = `lift it there for ${user}: noexec of sudoers(5)`;
    return fail(`sudo runs a shell for ${user} that may start no program (NOEXEC)`, hint);
  }
  if (/not in the sudoers|not allowed to (execute|run)|may not run sudo/.test(stderr)) {
    return fail(`${user} may not become root with sudo`, 'allow it there, or log in as a user who may');
  }
  if (/sudo: (command )?not found|sudo: No such file/.test(stderr)) {
    return fail(`${user} is not root, and sudo is not installed`, 'install sudo there, or log in as root');
  }
  const invalid = /^sudo: (.*(?:password is expired|account validation failure).*)$/im.exec(stderr)?.[1];
  if (invalid !== undefined) {
    return fail(
      `${user} may not use sudo until its account is in order: ${invalid}`,
      `log in there as ${user} to change the password, or see chage -l ${user}`,
    );
  }
  if (triedPassword) {
    const isWrong = /^Sorry, try again|incorrect (password|authentication) attempt|no password was/im.test(
      stderr,
    );
    return fail(
      `sudo did not take the password of ${user}${isWrong ? '' : `: ${last}`}`,
      'check become_password in the inventory. With rootpw or targetpw in sudoers it is that of root',
    );
  }
  if (/password is required|authentication is required/.test(stderr)) {
    const hint =
      'give become_password for this host in the inventory, or allow sudo without a password there';
    return fail(`sudo wants a password of ${user}`, hint);
  }
  return fail(`${user} could not become root${last ? `: ${last}` : ''}`, 'try `sudo -n true` there by hand');
}
