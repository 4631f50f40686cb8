import type { Become } from './become.ts';

/**
 * Scripts up to this size are part of the command itself, which saves a wait for standard input. As base64 they stay below the
 * 128 KiB that Linux allows for one argument.
 */
const maxInCommand = 90_000;

/** csh refuses longer words (8 KiB). */
const maxWord = 6000;

/**
 * A command line that runs a script in sh, in any login shell: nothing between its single quotes is special in fish or csh.
 *
 * @param stdin the script's standard input
 * @returns the command line, and its standard input
 */
export function remoteCommand(script: string, { prefix, password }: Become, stdin: Buffer | undefined) {
  const bytes = Buffer.from(script);
  const encoded = bytes.toString('base64');
  const inCommand = bytes.length <= maxInCommand;
  const lines = [...(password ? [password.reveal()] : []), ...(inCommand ? [] : [encoded])];

  // `read` takes no byte beyond its line, so the rest stays for the script.
  const take = inCommand ? '' : 'IFS= read -r __s||exit 127;set -- "$__s";';
  // A failed decoding must not pass for an empty script that succeeds.
  const inner = `${take}__s="$(printf %s "$@"|base64 -d)"||exit 127;set --;eval "$__s"`;
  const words = inCommand ? ['sh', ...(encoded.match(new RegExp(`.{1,${maxWord}}`, 'g')) ?? [])] : [];
  const head = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  return {
    command: [`${prefix}sh -c '${inner}'`, ...words].join(' '),
    input: head.length > 0 ? Buffer.concat([head, stdin ?? Buffer.alloc(0)]) : stdin,
  };
}
