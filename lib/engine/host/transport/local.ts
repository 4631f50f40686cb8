import { userInfo } from 'node:os';
import { $ } from 'zx';
import { ConnectionLost } from '../connection-errors.ts';
import type { Transport } from './transport.ts';
import { watch } from './watchdog.ts';

/** The machine itself. @param name what errors call it */
export function openLocal(name: string): { readonly transport: Transport; readonly user: string } {
  const shell = $({
    nothrow: true,
    quiet: true,
    shell: '/bin/sh',
    prefix: '',
    postfix: '',
    // The command is ready for the shell as it stands.
    quote: (command) => command,
    // Apart from the terminal, so that Ctrl-C stops us and not what runs.
    detached: true,
    // Nothing of ours is passed on: the environment may hold secrets, and SSH would not pass it either.
    env: environment(),
  });

  return {
    user: userInfo().username,
    transport: {
      async run(command, input, onStdout, { seconds } = {}) {
        const running = shell`${command}`;
        const watched = watch(seconds, (why) => {
          running.kill('SIGKILL').catch(() => {});
          return new ConnectionLost(name, why);
        });
        const stdout: Buffer[] = [];
        const stderr: Buffer[] = [];
        running.stdout.on('data', (chunk: Buffer) => {
          watched.count(chunk);
          stdout.push(chunk);
          onStdout(chunk);
        });
        running.stderr.on('data', (chunk: Buffer) => {
          watched.count(chunk);
          stderr.push(chunk);
        });
        // A command need not read all that it is given.
        running.stdin.on('error', () => {});
        running.stdin.end(input);
        const { exitCode } = await watched.over(running);
        return { code: exitCode ?? 255, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) };
      },
      async close() {},
    },
  };
}

function environment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL'];
  return Object.fromEntries(
    kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
