/** A fault of one value in the variables of a host. */
export interface Fault {
  readonly path: readonly string[];
  /**
   * Default: the place of the value. `host` is the name of the host, for a value that nobody
   * wrote.
   */
  readonly at?: 'key' | 'value' | 'host' | undefined;
  readonly what: string;
  readonly hint?: string | undefined;
}
