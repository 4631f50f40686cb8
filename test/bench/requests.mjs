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

/**
 * The reverse of `withoutNonces`.
 *
 * @param {string} text
 * @param {string[]} nonces
 */
export function withNonces(text, nonces) {
  return text.replaceAll(/@nonce (\d+)@/g, (_, number) => nonces[Number(number)] ?? '');
}
