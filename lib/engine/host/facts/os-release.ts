/** os-release(5): lines of NAME=value, quoted as for a shell. */
export function parseOsRelease(text: string) {
  const values = new Map<string, string>();
  for (const [, name = '', value = ''] of text.matchAll(/^ *([A-Z_]+)=(.*)$/gm)) {
    values.set(
      name,
      value
        .trim()
        .replace(/^(["'])(.*)\1$/, '$2')
        .replace(/\\(.)/g, '$1'),
    );
  }
  const of = (name: string) => values.get(name) ?? '';
  return {
    id: of('ID'),
    version: of('VERSION_ID'),
    codename: of('VERSION_CODENAME'),
    title: of('PRETTY_NAME') || of('NAME'),
  };
}
