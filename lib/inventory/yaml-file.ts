import { readFile } from 'node:fs/promises';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from 'yaml';
import { type Place, Problem, Problems } from '../problem.ts';
import type { Placed, PlacedEntry, PlacedMap } from './placed.ts';

const deepest = 64;
const most = 50_000;

/**
 * Reads a YAML 1.2 file whose top is a mapping; every value knows its line and column.
 *
 * @param file path, also as it is shown in problems
 * @throws Problems with all syntax errors and duplicate keys, each with its place
 */
export async function readYamlFile(file: string): Promise<PlacedMap> {
  const bytes = await readFile(file);
  const text = bytes.toString('utf8');
  if (text.includes('\uFFFD') && !bytes.equals(Buffer.from(text, 'utf8'))) {
    throw new Problem('this file is not UTF-8 text', { where: { file } });
  }
  return parseYaml(text, file);
}

/** As readYamlFile, of a text that has been read. A byte order mark at its start is skipped. */
export function parseYaml(text: string, file: string): PlacedMap {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text.replace(/^\uFEFF/, ''), {
    lineCounter: lines,
    prettyErrors: false,
    version: '1.2',
  });
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const empty = new Problem('this file is empty', { where: { file, line: 1, column: 1 } });
  if (!Array.isArray(documents)) throw empty;

  const problems = documents
    .flatMap((document) => [...document.errors, ...document.warnings])
    .map(
      (error) =>
        new Problem(inWords(error.code, error.message), { where: place(error.pos[0]), hint: hintFor(error.code) }),
    );
  if (problems.length > 0) throw new Problems(problems);

  const second = documents[1];
  if (second) {
    throw new Problem('a second document starts here; there may be only one', {
      where: place(second.range[0]),
      hint: 'remove the line ---',
    });
  }
  const document = documents[0];
  const top = document?.contents;
  if (!document || !isNode(top) || (isScalar(top) && top.value === null)) throw empty;
  if (!isMap(top)) {
    throw new Problem('the top of this file must be a mapping (key: value)', { where: place(top.range?.[0] ?? 0) });
  }

  let count = 0;
  const convert = (node: unknown, at: Place, depth: number): Placed => {
    if (!isNode(node)) return { kind: 'scalar', at, value: null };
    const here = node.range ? place(node.range[0]) : at;
    if (++count > most || depth > deepest) {
      throw new Problem('this is nested too deeply or repeats itself through its anchors', { where: here });
    }
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (!target) throw new Problem(`no anchor &${node.source} stands before this`, { where: here });
      return { ...convert(target, here, depth + 1), at: here };
    }
    if (isScalar(node)) return { kind: 'scalar', at: here, value: scalarValue(node.value) };
    if (isSeq(node)) return { kind: 'list', at: here, items: node.items.map((item) => convert(item, here, depth + 1)) };
    if (isMap(node)) return { kind: 'map', at: here, entries: entriesOf(node.items, here, depth) };
    throw new Problem('this is not a value', { where: here });
  };
  const entriesOf = (
    pairs: readonly { key: unknown; value: unknown }[],
    at: Place,
    depth: number,
  ): Map<string, PlacedEntry> => {
    const entries = new Map<string, PlacedEntry>();
    const own = new Set<string>();
    for (const { key, value } of pairs) {
      const keyAt = isNode(key) && key.range ? place(key.range[0]) : at;
      if (!isScalar(key)) throw new Problem('a key must be a plain word', { where: keyAt });
      if (key.value === '<<' && key.type === 'PLAIN') {
        for (const [name, entry] of merged(value, keyAt, depth)) if (!own.has(name)) entries.set(name, entry);
        continue;
      }
      const name = String(key.value);
      if (own.has(name)) throw new Problem(`duplicate key "${name}"`, { where: keyAt, hint: 'keep one of the two' });
      own.add(name);
      entries.set(name, { keyAt, value: convert(value, keyAt, depth + 1) });
    }
    return entries;
  };
  const merged = (value: unknown, at: Place, depth: number): [string, PlacedEntry][] => {
    const source = convert(value, at, depth + 1);
    const maps = source.kind === 'list' ? source.items : [source];
    return maps.flatMap((map) => {
      if (map.kind !== 'map') throw new Problem('<< merges a mapping only', { where: map.at });
      return [...map.entries];
    });
  };
  const placed = convert(top as Node, place(0), 0);
  if (placed.kind !== 'map') throw empty;
  return placed;
}

function scalarValue(value: unknown): string | number | bigint | boolean | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return value;
  return String(value);
}

function inWords(code: string, message: string): string {
  switch (code) {
    case 'DUPLICATE_KEY':
      return 'this key stands here a second time';
    case 'TAB_AS_INDENT':
      return 'a tab may not indent YAML';
    default:
      return `not valid YAML: ${message}`;
  }
}

function hintFor(code: string): string | undefined {
  switch (code) {
    case 'DUPLICATE_KEY':
      return 'keep one of the two';
    case 'TAB_AS_INDENT':
      return 'indent with spaces';
    default:
      return undefined;
  }
}
