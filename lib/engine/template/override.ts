import { quoted } from './format.ts';
import { entryAt, isSection, outlineOf } from './outline.ts';
import type { Source } from './source.ts';
import { type Piece, replaced } from './template.ts';

/** A single value that a file may hold. */
type Scalar = string | number | boolean;

/** A value for a key of a file, or for a key that it does not have yet. */
export interface Override {
  readonly path: readonly string[];
  readonly value: Scalar | readonly Scalar[];
}

/**
 * A rendered TOML or flat JSON file with some values replaced and others added; comments stay. A
 * new key follows the last one of its section, or its header; a new section is at the end.
 *
 * @param overrides text that `textFault` accepts, numbers that are finite and exact, no section
 * and value of one name
 * @throws Problem as `outlineOf`
 */
export function withOverrides(rendered: string, source: Source, overrides: readonly Override[]): string {
  const text = rendered.endsWith('\n') ? rendered : `${rendered}\n`;
  const top = outlineOf(text, source);
  const pieces: Piece[] = [];
  const added = new Map<string, Override[]>();
  for (const override of overrides) {
    const entry = entryAt(top, override.path);
    const section = override.path.slice(0, -1).join('.');
    if (entry && !isSection(entry)) pieces.push({ ...entry, text: literal(override.value) });
    else added.set(section, [...(added.get(section) ?? []), override]);
  }
  for (const [section, entries] of added) {
    const above = entryAt(top, section === '' ? [] : section.split('.'));
    const end = isSection(above) ? above.end : undefined;
    const lines = entries.map(({ path, value }) => [path.at(-1) ?? '', literal(value)] as const);
    pieces.push(source.format === 'json' ? inJson(text, end, lines) : inToml(text, section, end, lines));
  }
  pieces.sort((a, b) => a.start - b.start);
  return replaced(text, pieces);
}

function literal(value: Override['value']): string {
  if (typeof value === 'object') return `[${value.map(literal).join(', ')}]`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

type Lines = readonly (readonly [key: string, value: string])[];

function inJson(text: string, end: number | undefined, lines: Lines): Piece {
  const at = end ?? text.indexOf('{') + 1;
  const added = lines.map(([key, value]) => `\n  ${quoted(key)}: ${value}`).join(',');
  return { start: at, end: at, text: end === undefined ? added : `,${added}` };
}

function inToml(text: string, section: string, end: number | undefined, lines: Lines): Piece {
  const added = lines.map(([key, value]) => `${key} = ${value}`).join('\n');
  if (end !== undefined) return { start: end, end, text: `\n${added}` };
  // Keys without a section come before all sections.
  if (section === '') return { start: 0, end: 0, text: `${added}\n\n` };
  return { start: text.length, end: text.length, text: `\n[${section}]\n${added}\n` };
}
