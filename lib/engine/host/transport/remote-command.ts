import type { Become } from './become.ts';

/**
 * Scripts up to this size travel in the command itself, which saves a wait for standard input. As base64 they stay below the
 * 128 KiB that Linux allows one argument.
 */
const largestInCommand = 90_000;

/**
 * A command line that runs a script in sh, whatever the login shell is: between the single quotes stands nothing that fish or
 * csh would take for more than a character.
 *
 * @param stdin what the script finds on its standard input
 * @returns the command line, and all that goes to its standard input
 */
export function remoteCommand(
  script: string,
  become: Become,
  stdin: Buffer | undefined,
): { readonly command: string; readonly input: Buffer | undefined } {
  const bytes = Buffer.from(script);
  const encoded = bytes.toString('base64');
  const inCommand = bytes.length <= largestInCommand;
  const lines: string[] = [];
  if (become.password) lines.push(become.password.reveal());
  if (!inCommand) lines.push(encoded);

  // `read` takes no byte beyond its line, so the rest is left for the script.
  const take = inCommand ? `__s=${encoded}` : 'IFS= read -r __s||exit 127';
  // A failed decoding must not pass for an empty script that succeeds.
  const inner = `${take};__s="$(echo "$__s"|base64 -d)"||exit 127;eval "$__s"`;
  const head = lines.length === 0 ? undefined : Buffer.from(`${lines.join('\n')}\n`);
  return {
    command: `${become.prefix}sh -c '${inner}'`,
    input: head ? Buffer.concat([head, stdin ?? Buffer.alloc(0)]) : stdin,
  };
}
