interface Answers {
  /** Addresses of the Database+Sync server and of the RPC server. */
  readonly database: string;
  readonly rpc: string;
  /** Path of the file with every password, relative to the inventory. */
  readonly password: string;
  /** In place of each web address. */
  readonly url: string;
}

/** inventory/testnet.yaml with a value in place of each that an operator fills in. */
export function filledInventory(text: string, { database, rpc, password, url }: Answers): string {
  return text
    .replace("'<FILL: address of the Database+Sync server>'", database)
    .replace("'<FILL: address of the RPC server>'", rpc)
    .replace(/'<FILL: day [^>]*>'/, "'2026-11-01'")
    .replaceAll(/'<FILL: SHA-256 [^>]*>'/g, `'${'0'.repeat(64)}'`)
    .replaceAll('<FILL: registry and owner>', 'registry.example.org')
    .replaceAll(/secret:\w+/g, `file:${password}`)
    .replaceAll(/<FILL: [^>]*>/g, url);
}
