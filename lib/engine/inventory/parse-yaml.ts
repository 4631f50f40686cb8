import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type YAMLMap,
} from 'yaml';
import { NestedTooDeeply, yamlDocuments } from '../file/yaml-documents.mjs';
import { yamlProblems } from '../file/yaml-fault.ts';
import { type Place, Problem, Problems } from '../problem/problem.ts';
import type { Located, LocatedEntry, LocatedMap, LocatedScalar } from './located.ts';

const tooDeep = 'this is nested too deeply or repeats itself through its anchors';
const mostNodes = 50_000;
const secondMerge = 'this mapping has << a second time';
const oneMerge = 'write one with a list, of which the first mapping with a key wins: <<: [*ONE, *OTHER]';

/**
 * Parses YAML 1.2 with a mapping at its top. A byte order mark at its start is skipped.
 *
 * @param file path, as problems show it
 * @param from for the output of a command: where the command is
 * @throws Problem, Problems with the first syntax error, all tags, or all duplicate keys, each
 * with its place
 */
export function parseYaml(text: string, file: string, from?: Place): LocatedMap {
  const lines = new LineCounter();
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), ...(from && { from }) };
  };
  return new Conversion(placeOf).top(topMapping(text.replace(/^\uFEFF/, ''), lines, placeOf));
}

/**
 * Parses the text.
 *
 * @throws Problem, Problems where it is not one document with a mapping at its top
 */
function topMapping(text: string, lineCounter: LineCounter, placeOf: (offset: number) => Place): YAMLMap {
  // The parser takes a carriage return alone for a space, and all of the file for one line.
  if (text.includes('\r') && !text.includes('\n')) {
    const hint = 'save it with Unix line ends';
    throw new Problem('the lines of this file end with carriage returns alone', { where: placeOf(0), hint });
  }
  const [document, second] = documentsIn(text, lineCounter, placeOf);
  const documents = second ? [document, second] : [document];
  const inWords = (message: string) => `not valid YAML: ${message.replace(/:? "[\s\S]*$/, '')}`;
  const problems = yamlProblems(documents, placeOf, inWords);
  if (problems.length > 0) throw new Problems(problems);
  if (second) {
    throw new Problem('a second document starts here; there may be only one', {
      where: placeOf(second.range[0]),
      hint: 'remove the line ---',
    });
  }
  const top = document.contents;
  if (isMap(top)) return top;
  if (!top || (isScalar(top) && top.value === null))
    throw new Problem('this file is empty', { where: placeOf(0) });
  throw new Problem('the top of this file must be a mapping (key: value)', { where: placeOf(top.range[0]) });
}

function documentsIn(text: string, lineCounter: LineCounter, placeOf: (offset: number) => Place) {
  try {
    // Duplicate keys are found by the conversion, because the parser compares each key with all
    // others.
    return yamlDocuments(text, { lineCounter, prettyErrors: false, uniqueKeys: false, version: '1.2' });
  } catch (error) {
    if (error instanceof NestedTooDeeply) throw new Problem(tooDeep, { where: placeOf(error.offset) });
    throw error;
  }
}

/** What an alias stands for. */
interface Anchored {
  readonly value: Located;
  /** How many nodes it holds, itself among them, with those of its own aliases. */
  readonly nodes: number;
}

/** Turns the nodes of the parser into located values. */
class Conversion {
  readonly #placeOf: (offset: number) => Place;
  readonly #duplicates: Problem[] = [];
  /**
   * Collected here, because the parser searches the whole file for each alias. An anchor whose
   * value has not ended is `open`.
   */
  readonly #anchors = new Map<string, Anchored | 'open'>();
  #count = 0;

  constructor(placeOf: (offset: number) => Place) {
    this.#placeOf = placeOf;
  }

  top(map: YAMLMap): LocatedMap {
    const located = this.#map(map, this.#placeOf(map.range?.[0] ?? 0));
    if (this.#duplicates.length > 0) throw new Problems(this.#duplicates);
    return located;
  }

  #convert(node: unknown, parent: Place): Located {
    if (!isNode(node)) return { kind: 'scalar', at: parent, value: null };
    const at = node.range ? this.#placeOf(node.range[0]) : parent;
    if (isAlias(node)) return this.#alias(node.source, at);
    const before = this.#count;
    this.#add(1, at);
    if (node.anchor) this.#anchors.set(node.anchor, 'open');
    const value = this.#value(node, at);
    if (node.anchor) this.#anchors.set(node.anchor, { value, nodes: this.#count - before });
    return value;
  }

  #add(nodes: number, at: Place): void {
    this.#count += nodes;
    if (this.#count > mostNodes) throw new Problem(tooDeep, { where: at });
  }

  /** All but the place of the alias itself keeps the place at the anchor. */
  #alias(name: string, at: Place): Located {
    const target = this.#anchors.get(name);
    if (!target) throw new Problem(`no anchor &${name} is before this`, { where: at });
    if (target === 'open') throw new Problem(tooDeep, { where: at });
    this.#add(target.nodes, at);
    return { ...target.value, at };
  }

  #value(node: Exclude<Node, Alias>, at: Place): Located {
    if (isMap(node)) return this.#map(node, at);
    if (isSeq(node)) return { kind: 'list', at, items: node.items.map((item) => this.#convert(item, at)) };
    const { value } = node;
    if (typeof value === 'object' && value !== null) {
      const tag = node.tag?.replace('tag:yaml.org,2002:', '!!');
      throw new Problem(`the YAML tag ${tag} is not supported`, { where: at, hint: 'leave the tag out' });
    }
    return { kind: 'scalar', at, value: (value ?? null) as LocatedScalar['value'] };
  }

  #map(map: YAMLMap, at: Place): LocatedMap {
    const entries = new Map<string, LocatedEntry>();
    const own = new Set<string>();
    for (const { key, value } of map.items) {
      const keyAt = isNode(key) && key.range ? this.#placeOf(key.range[0]) : at;
      if (!isScalar(key)) throw new Problem('a key must be a plain word', { where: keyAt });
      if (key.value === '<<' && key.type === 'PLAIN') {
        if (own.has('<<')) this.#duplicates.push(new Problem(secondMerge, { where: keyAt, hint: oneMerge }));
        own.add('<<');
        for (const [name, entry] of this.#merged(value, keyAt)) if (!own.has(name)) entries.set(name, entry);
        continue;
      }
      if (key.anchor) this.#convert(key, keyAt);
      // As it is written: 0x10 is not another name for 16.
      const name = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
      if (name === '__proto__') throw new Problem('unknown key __proto__', { where: keyAt });
      if (own.has(name)) {
        this.#duplicates.push(
          new Problem('this key is defined a second time', { where: keyAt, hint: 'keep one of the two' }),
        );
      }
      own.add(name);
      entries.set(name, { keyAt, value: this.#convert(value, keyAt) });
    }
    return { kind: 'map', at, entries };
  }

  /** What `<<` merges. Of a list the first mapping with a key wins (https://yaml.org/type/merge.html). */
  #merged(value: Pair['value'], keyAt: Place): readonly (readonly [string, LocatedEntry])[] {
    const source = this.#convert(value, keyAt);
    return (source.kind === 'list' ? source.items.toReversed() : [source]).flatMap((map) => {
      if (map.kind === 'map') return [...map.entries];
      throw new Problem('<< merges a mapping only', {
        where: map.at,
        hint: 'name a mapping that has an anchor: <<: *NAME',
      });
    });
  }
}
