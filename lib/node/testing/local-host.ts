import { execFile } from 'node:child_process';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';

/**
 * This machine as a host whose commands are run, and on which all containers seem to run.
 *
 * @param folder of programs that come before the machine's own
 * @param more as of `fakeHost`
 */
export function localHost(folder = '', more: Partial<ReturnType<typeof fakeHost>> = {}) {
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, LC_ALL: 'C' };
  return fakeHost([], {
    $: shell(
      (command, { stdin }) =>
        new Promise((resolve) => {
          const child = execFile(
            '/bin/sh',
            ['-c', command],
            { encoding: 'buffer', env },
            (error, stdout, stderr) =>
              resolve(
                new Output(typeof error?.code === 'number' ? error.code : 0, stdout, stderr.toString()),
              ),
          );
          // The command may end without reading it.
          child.stdin?.on('error', () => {});
          child.stdin?.end(
            stdin === undefined
              ? ''
              : typeof stdin === 'object' && 'reveal' in stdin
                ? stdin.reveal()
                : stdin,
          );
        }),
    ),
    container: async () => runningContainer,
    ...more,
  });
}
