/**
 * A request of ours: its script, and its standard input with another script in place of it.
 *
 * @typedef {{ script: string, withScript(script: string): string }} Sent
 */

/**
 * Whether a channel was opened ahead (lib/engine/host/ssh/channel.ts): its shell reads the command
 * that it runs.
 *
 * @param {string} line the command line of the channel
 */
export const isOpenedAhead = (line) => line.startsWith("sh -c 'IFS= read -r c&&");

/**
 * The script of a request, as lib/engine/host/transport/remote-command.ts sends it.
 *
 * @param {string} command the command line of the channel
 * @param {string} given its whole standard input, in latin1
 * @returns {Sent | undefined} undefined for a command line without a script
 */
export function sentScript(command, given) {
  if (isOpenedAhead(command)) {
    const [line, rest] = cutLine(given);
    const sent = sentScript(line, rest);
    return sent && { script: sent.script, withScript: (script) => `${line}\n${sent.withScript(script)}` };
  }
  if (/^(.* )?sh -c 'command -v base64 /.test(command))
    return { script: given, withScript: (script) => script };
  const [line, rest] = cutLine(given);
  if (/^(.* )?sh -c 'IFS= read -r __i\|\|/.test(command)) {
    return { script: rest, withScript: (script) => `${line}\n${script}` };
  }
  if (/^(.* )?sh -c 'IFS= read -r __s\|\|/.test(command)) {
    const encoded = (/** @type {string} */ script) => Buffer.from(script, 'latin1').toString('base64');
    const script = Buffer.from(line, 'base64').toString('latin1');
    return { script, withScript: (changed) => `${encoded(changed)}\n${rest}` };
  }
  return undefined;
}

/** @param {string} text @returns {[string, string]} the first line, and what follows it */
function cutLine(text) {
  const end = text.indexOf('\n');
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}
