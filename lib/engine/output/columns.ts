/**
 * Rows of cells as lines.
 *
 * @param aligned how many columns are padded to their widest cell; those after them are not
 */
export function columns(rows: readonly (readonly string[])[], aligned: number): string[] {
  const widths = Array.from({ length: aligned }, (_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  const padded = (cell: string, at: number) => cell.padEnd(widths[at] ?? 0);
  return rows.map((row) => row.map(padded).join('  ').trimEnd());
}
