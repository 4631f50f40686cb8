/** Where option --to puts a snapshot. */
interface Target {
  /** Of the inventory, where the option names one. */
  readonly host: string | undefined;
  /** `/FOLDER`, or `s3://BUCKET/FOLDER`. */
  readonly folder: string;
}

/**
 * The parts of the value of option --to, `[HOST:]/FOLDER` or `[HOST:]s3://BUCKET/FOLDER`: the colon
 * of `s3://` follows no host.
 */
export function targetOf(to: string): Target {
  const [, host, folder = to] = /^([\w.-]+):((?:\/[^/]|s3:).*)$/.exec(to) ?? [];
  return { host, folder };
}
