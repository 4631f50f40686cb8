import { readText } from './read-text.ts';
import { runSsh } from './run-ssh.ts';

/** Never resolves (RFC 6761): no configuration names it. */
const anyHost = 'any.invalid';

/** Lines of ssh_config(5) by which one host can differ from another: blocks for some hosts, other names, tokens. */
const differs = /^\s*(host\b(?!\s+\*\s*$)|match\b|hostname\b|canonical)|^[^#\n]*%/im;

let found: Promise<string | undefined> | undefined;

/**
 * The output of `ssh -G` without the host's name, where no file that ssh reads tells hosts apart. ssh runs once for a whole process: a
 * run for each host takes 7 ms of processor time.
 *
 * @returns undefined where each host has to be asked for, or ssh does not say which files it reads
 */
export function commonSshConfig(): Promise<string | undefined> {
  found ??= runSsh(['-v', '-G', '--', anyHost]).then((ran) =>
    ran?.log.startsWith('OpenSSH') && filesIn(ran.log).every(isForAll) ? withoutName(ran.printed) : undefined,
  );
  return found;
}

function filesIn(log: string): readonly string[] {
  return [...log.matchAll(/^debug1: Reading configuration data (.*?)\r?$/gm)].map(([, file = '']) => file);
}

function isForAll(file: string): boolean {
  const text = readText(file);
  return text !== undefined && !differs.test(text);
}

function withoutName(printed: string): string {
  return printed.replace(/^(host|hostname) .*\n/gm, '');
}
