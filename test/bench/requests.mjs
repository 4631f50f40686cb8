/** The script in a command line of ours, which has it in base64; another command line as it is. @param {string} command */
export function scriptOf(command) {
  const words = /^.* sh ([A-Za-z0-9+/= ]+)$/s.exec(command)?.[1];
  return words === undefined ? command : Buffer.from(words.replaceAll(' ', ''), 'base64').toString('latin1');
}

const nonce = /\b[0-9a-f]{24}\b/g;

/**
 * Replaces each random word by its number.
 *
 * @param {string} text
 * @param {string[]} nonces those with a number already; new ones are added
 */
export function withoutNonces(text, nonces = []) {
  const replaced = text.replaceAll(nonce, (found) => {
    if (!nonces.includes(found)) nonces.push(found);
    return `@nonce ${nonces.indexOf(found)}@`;
  });
  return { text: replaced, nonces };
}

/** The reverse of `withoutNonces`. @param {string} text @param {string[]} nonces */
export function withNonces(text, nonces) {
  return text.replaceAll(/@nonce (\d+)@/g, (_, number) => nonces[Number(number)] ?? '');
}
