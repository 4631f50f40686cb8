import { $ } from 'zx';
import { account } from '../../file/account.ts';
import { ConnectionLost } from '../connection-errors.ts';
import type { Transport } from './transport.ts';
import { createWatchdog } from './watchdog.ts';

/**
 * The machine itself.
 *
 * @param name its name in errors
 */
export function openLocal(name: string): { readonly transport: Transport; readonly user: string } {
  const kept = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL'];
  const shell = $({
    nothrow: true,
    quiet: true,
    shell: '/bin/sh',
    prefix: '',
    postfix: '',
    // The command is quoted already.
    quote: (command) => command,
    // In its own session, so that Ctrl-C ends only this program.
    detached: true,
    // The rest of the environment may hold secrets, and SSH would not pass it either.
    env: Object.fromEntries(Object.entries(process.env).filter(([variable]) => kept.includes(variable))),
  });

  const run: Transport['run'] = async (command, input, { seconds, onOutput } = {}) => {
    const running = shell`${command}`;
    const watchdog = createWatchdog(seconds, (why) => {
      running.kill('SIGKILL').catch(() => {});
      return new ConnectionLost(name, why);
    });
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
    running.stdout.on('data', (chunk: Buffer) => {
      watchdog.count(chunk);
      stdout.push(chunk);
      onOutput?.(chunk);
    });
    running.stderr.on('data', (chunk: Buffer) => {
      watchdog.count(chunk);
      stderr.push(chunk);
    });
    // A command need not read all of its input.
    running.stdin.on('error', () => {});
    running.stdin.end(input);
    const { exitCode } = await watchdog.guard(running);
    return { code: exitCode ?? 255, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) };
  };
  return { user: account().username, transport: { run, async close() {} } };
}
