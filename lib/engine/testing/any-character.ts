import fc from 'fast-check';

/** The code points that are no halves of surrogate pairs. */
const count = 0x110000 - 0x800;

/**
 * Any one character. `unit: 'binary'` of fast-check is the same, but first makes a table of a
 * million characters.
 */
export const anyCharacter = fc
  .nat(count - 1)
  .map((index) => String.fromCodePoint(index < 0xd800 ? index : index + 0x800));
