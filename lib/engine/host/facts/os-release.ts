import type { Facts } from './facts.ts';

/** os-release(5): lines of NAME=value, quoted as for a shell. */
export function parseOsRelease(text: string): Facts['distribution'] {
  const values = new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const [, name, value = ''] = /^([A-Z_]+)=(.*)$/.exec(line.trim()) ?? [];
      return name === undefined ? [] : [[name, value.replace(/^(["'])(.*)\1$/, '$2').replace(/\\(.)/g, '$1')]];
    }),
  );
  const of = (name: string) => values.get(name) ?? '';
  return {
    id: of('ID'),
    version: of('VERSION_ID'),
    codename: of('VERSION_CODENAME'),
    title: of('PRETTY_NAME') || of('NAME'),
  };
}
