/** One archive of a snapshot. */
export interface Archive {
  readonly store: 'state' | 'prover';
  readonly url: string;
  readonly sha256: string;
  /** Its place on the database host. */
  readonly path: string;
  /** Its main table: which of the two archives it is. */
  readonly table: string;
}
