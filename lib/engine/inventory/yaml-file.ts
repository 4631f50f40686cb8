import { readFile, stat } from 'node:fs/promises';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node } from 'yaml';
import { deepest, NestedTooDeeply, yamlDocuments } from '../file/yaml-documents.mjs';
import { worthShowing, yamlFault } from '../file/yaml-fault.ts';
import { type Place, Problem, Problems } from '../problem/problem.ts';
import type { Located, LocatedEntry, LocatedMap } from './located.ts';

const tooDeep = 'this is nested too deeply or repeats itself through its anchors';
const most = 50_000;
/** An inventory of a thousand hosts has less than half of this; a file that is larger is some other file. Bytes. */
const largest = 256 * 1024;

/**
 * Reads a YAML 1.2 file whose top is a mapping; every value knows its line and column.
 *
 * @param file path, also as it is shown in problems
 * @throws Problem, Problems with the first syntax error, all tags, or all duplicate keys, each with its place
 * @throws what the file system throws where the file cannot be read
 */
export async function readYamlFile(file: string): Promise<LocatedMap> {
  const found = await stat(file);
  const start = { file, line: 1, column: 1 };
  // A device or a pipe may have no end.
  if (!found.isFile() && !found.isDirectory()) throw new Problem('this is not a file', { where: start });
  if (found.size > largest) {
    throw new Problem(`this file is ${found.size} bytes long: that is no inventory`, { where: start });
  }
  const bytes = await readFile(file);
  const text = bytes.toString('utf8');
  const invalid = text.includes('\uFFFD') ? firstDifference(bytes, Buffer.from(text, 'utf8')) : -1;
  if (invalid >= 0) {
    const before = bytes.toString('utf8', 0, invalid).split('\n');
    const where = { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    throw new Problem('this is not UTF-8 text', { where, hint: 'save the file as UTF-8' });
  }
  return parseYaml(text, file);
}

/** Where two texts part, or -1. */
function firstDifference(a: Buffer, b: Buffer): number {
  return a.equals(b) ? -1 : a.findIndex((byte, at) => byte !== b[at]);
}

/** As readYamlFile, of a text that has been read. A byte order mark at its start is skipped. */
export function parseYaml(text: string, file: string): LocatedMap {
  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const empty = new Problem('this file is empty', { where: { file, line: 1, column: 1 } });
  const documents = readDocuments(text.replace(/^\uFEFF/, ''), lines, place);

  const wrong = worthShowing(
    documents.flatMap(({ errors }) => errors),
    documents.flatMap(({ warnings }) => warnings),
  );
  if (wrong.length > 0) {
    throw new Problems(
      wrong.map(({ code, message, pos }) => {
        const fault = yamlFault(code, `not valid YAML: ${message.replace(/:? "[\s\S]*$/, '')}`);
        return new Problem(fault.message, { where: place(pos[0]), hint: fault.hint });
      }),
    );
  }

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
  const duplicates: Problem[] = [];
  // Gathered here: the parser goes through the whole file for each alias.
  const anchors = new Map<string, Node>();
  const met = new Set<Node>();
  const remember = (node: Node & { anchor?: string }): void => {
    // Met again through an alias, it stands where it stood.
    if (node.anchor && !met.has(node)) anchors.set(node.anchor, node);
    met.add(node);
  };
  const convert = (node: unknown, at: Place, depth: number): Located => {
    if (!isNode(node)) return { kind: 'scalar', at, value: null };
    const here = node.range ? place(node.range[0]) : at;
    if (++count > most || depth > deepest) throw new Problem(tooDeep, { where: here });
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (!target) throw new Problem(`no anchor &${node.source} stands before this`, { where: here });
      return { ...convert(target, here, depth + 1), at: here };
    }
    remember(node);
    if (isScalar(node)) {
      const value = scalarValue(node.value);
      if (value === undefined) {
        throw new Problem('a value is text, a number, true or false', {
          where: here,
          hint: `leave out the tag ${node.tag}`,
        });
      }
      return { kind: 'scalar', at: here, value };
    }
    if (isSeq(node)) return { kind: 'list', at: here, items: node.items.map((item) => convert(item, here, depth + 1)) };
    if (isMap(node)) return { kind: 'map', at: here, entries: entriesOf(node.items, here, depth) };
    throw new TypeError('the parser knows nodes that are neither scalar, list, mapping nor alias');
  };
  const entriesOf = (
    pairs: readonly { key: unknown; value: unknown }[],
    at: Place,
    depth: number,
  ): Map<string, LocatedEntry> => {
    const entries = new Map<string, LocatedEntry>();
    const own = new Set<string>();
    for (const { key, value } of pairs) {
      const keyAt = isNode(key) && key.range ? place(key.range[0]) : at;
      if (!isScalar(key)) throw new Problem('a key must be a plain word', { where: keyAt });
      if (key.value === '<<' && key.type === 'PLAIN') {
        for (const [name, entry] of merged(value, keyAt, depth)) if (!own.has(name)) entries.set(name, entry);
        continue;
      }
      remember(key);
      // As it is written: 0x10 is no other name for 16.
      const name = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
      if (name === '__proto__') throw new Problem('unknown key __proto__', { where: keyAt });
      if (own.has(name)) {
        duplicates.push(
          new Problem('this key stands here a second time', { where: keyAt, hint: 'keep one of the two' }),
        );
      }
      own.add(name);
      entries.set(name, { keyAt, value: convert(value, keyAt, depth + 1) });
    }
    return entries;
  };
  const merged = (value: unknown, at: Place, depth: number): [string, LocatedEntry][] => {
    const source = convert(value, at, depth + 1);
    const maps = source.kind === 'list' ? source.items : [source];
    return maps.flatMap((map) => {
      if (map.kind !== 'map') {
        throw new Problem('<< merges a mapping only', {
          where: map.at,
          hint: 'name a mapping that has an anchor: <<: *NAME',
        });
      }
      return [...map.entries];
    });
  };
  const located = convert(top as Node, place(0), 0);
  if (duplicates.length > 0) throw new Problems(duplicates);
  if (located.kind !== 'map') throw empty;
  return located;
}

/** @throws Problem where it is nested too deeply */
function readDocuments(text: string, lineCounter: LineCounter, place: (offset: number) => Place) {
  try {
    return yamlDocuments(text, {
      lineCounter,
      prettyErrors: false,
      // Looked for by ourselves: the parser compares each key with all others.
      uniqueKeys: false,
      version: '1.2',
    });
  } catch (error) {
    if (error instanceof NestedTooDeeply) throw new Problem(tooDeep, { where: place(error.offset) });
    throw error;
  }
}

/** Undefined for what only a tag makes, such as `!!timestamp`. */
function scalarValue(value: unknown): string | number | bigint | boolean | null | undefined {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return value;
  return undefined;
}
