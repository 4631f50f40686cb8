import { quoted } from './format.ts';
import { entryAt, isSection, outlineOf } from './outline.ts';
import type { Source } from './source.ts';
import { type Piece, replaced } from './template.ts';

/** A single value that a file may hold. */
export type Scalar = string | number | boolean;

/** A value for a key of a file, or for a key that it does not have yet. */
export interface Override {
  readonly path: readonly string[];
  readonly value: Scalar | readonly Scalar[];
}

/**
 * A rendered TOML or flat JSON file with some values replaced and others added; comments stay. A new key follows the last one of its
 * section, or its header; a new section is at the end.
 *
 * @param overrides text that `textFault` accepts, numbers that are finite and exact, no section and value of one name
 * @throws Problem as `outlineOf`
 */
export function withOverrides(rendered: string, source: Source, overrides: readonly Override[]): string {
  const text = rendered.endsWith('\n') ? rendered : `${rendered}\n`;
  const top = outlineOf(text, source);
  const pieces: Piece[] = [];
  const added = new Map<string, string[]>();
  for (const { path, value } of overrides) {
    const entry = entryAt(top, path);
    if (entry && !isSection(entry)) {
      pieces.push({ start: entry.start, end: entry.end, text: literal(value) });
    } else {
      const key = path.at(-1) ?? '';
      const line = source.format === 'json' ? `  ${quoted(key)}: ${literal(value)}` : `${key} = ${literal(value)}`;
      const section = path.slice(0, -1).join('.');
      added.set(section, [...(added.get(section) ?? []), line]);
    }
  }
  for (const [section, lines] of added) {
    const path = section === '' ? [] : section.split('.');
    const above = entryAt(top, path);
    const end = isSection(above) ? above.end : undefined;
    pieces.push(source.format === 'json' ? inJson(text, end, lines) : inToml(text, section, end, lines.join('\n')));
  }
  return replaced(
    text,
    pieces.sort((a, b) => a.start - b.start),
  );
}

function literal(value: Override['value']): string {
  if (typeof value === 'object') return `[${value.map(literal).join(', ')}]`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

function inJson(text: string, end: number | undefined, lines: readonly string[]): Piece {
  const at = end ?? text.indexOf('{') + 1;
  return { start: at, end: at, text: `${end === undefined ? '' : ','}\n${lines.join(',\n')}` };
}

function inToml(text: string, section: string, end: number | undefined, lines: string): Piece {
  if (end !== undefined) return { start: end, end, text: `\n${lines}` };
  // Keys without a section come before all sections.
  if (section === '') return { start: 0, end: 0, text: `${lines}\n\n` };
  return { start: text.length, end: text.length, text: `\n[${section}]\n${lines}\n` };
}
