/** The algorithms that the SSH library has, on this Node. */
declare module 'ssh2/lib/protocol/constants.js' {
  const constants: Readonly<
    Record<'SUPPORTED_KEX' | 'SUPPORTED_CIPHER' | 'SUPPORTED_MAC', readonly string[]>
  >;
  export default constants;
}
