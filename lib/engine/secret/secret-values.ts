import { type Document, isMap, isScalar, LineCounter, type Pair, type YAMLMap } from 'yaml';
import { NestedTooDeeply, yamlDocuments } from '../file/yaml-documents.mjs';
import { yamlProblems } from '../file/yaml-fault.ts';
import { type Place, Problem, Problems } from '../problem/problem.ts';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
/** The key of the values from before a rotation. */
const formerKey = 'previous';
/** No password is longer. Characters. */
const longest = 4096;

/** The content of a file of secrets. */
export interface SecretValues {
  readonly current: ReadonlyMap<string, string>;
  /** From before a rotation, while a database may still use them. */
  readonly previous: ReadonlyMap<string, string>;
}

/** The characters that a secret may have, and the reason; undefined: any, in one line. */
type AllowedIn = (name: string) => { readonly pattern: RegExp; readonly reason: string } | undefined;

/**
 * Reads the plain text of a file of secrets: a YAML mapping of names to text, where every value is
 * text as written, `0123` too.
 *
 * @param file as problems show it
 * @throws Problems with all that is wrong, each with its place. No value is ever shown.
 */
export function parseSecretValues(
  text: string,
  file: string,
  allowed: AllowedIn = () => undefined,
): SecretValues {
  const { document, place } = parsed(text, file);
  const values = { current: new Map<string, string>(), previous: new Map<string, string>() };
  const map = document.contents;
  if (map === null || (isScalar(map) && map.value === '')) return values;
  if (!isMap(map)) throw new Problem('this must be a mapping, one NAME: VALUE a line', { where: place(map) });

  const problems: Problem[] = [];
  const refuse = (node: unknown, what: string) => problems.push(new Problem(what, { where: place(node) }));
  const read = ({ items }: YAMLMap, into: Map<string, string>, at: string): void => {
    const met = new Set<string>();
    for (const { key, value } of items as Pair[]) {
      const name = isScalar(key) ? key.value : undefined;
      if (typeof name !== 'string' || !namePattern.test(name)) {
        refuse(key, 'a name must start with a letter or digit and hold only letters, digits, _ . -');
      } else if (met.has(name)) {
        refuse(key, 'this name is in the mapping twice');
      } else if (at === '' && name === formerKey) {
        if (isMap(value)) read(value, values.previous, `${formerKey}.`);
        else refuse(key, `${formerKey} must be a mapping: it keeps the values from before a rotation`);
      } else {
        const content = isScalar(value) ? value.value : undefined;
        const isCut = isScalar(value) && value.anchor !== undefined;
        const fault = isCut
          ? 'starts with &: a value that does needs quotes'
          : faultIn(content, allowed(name));
        if (fault) refuse(value ?? key, `${at}${name} ${fault}`);
        else into.set(name, String(content));
      }
      met.add(String(name));
    }
  };
  read(map, values.current, '');
  if (problems.length > 0) throw new Problems(problems);
  return values;
}

/**
 * Refuses comments beside values, which may be a part of a value: YAML ends a value without quotes
 * before ` #`. Only where somebody types values: a file that has them already is read.
 *
 * @param text that parseSecretValues takes
 * @throws Problems, each with its place
 */
export function refuseCommentsBeside(text: string, file: string): void {
  const { document, place } = parsed(text, file);
  const beside = (map: unknown): Problem[] => {
    if (!isMap(map)) return [];
    return (map.items as Pair[]).flatMap(({ key, value }) => {
      if (!isScalar(value)) return beside(value);
      const rest = text.slice(value.range?.[1] ?? 0).split('\n', 1)[0] ?? '';
      if (!/^[ \t]+#/.test(rest)) return [];
      const what = `${isScalar(key) ? key.value : 'a value'} ends before #, where a comment begins`;
      const hint = 'put a value with # in quotes, and a comment on a line of its own';
      return [new Problem(what, { where: place(value), hint })];
    });
  };
  const problems = beside(document.contents);
  if (problems.length > 0) throw new Problems(problems);
}

/** New values by name; undefined removes a value. */
type Changes = { readonly [K in keyof SecretValues]?: ReadonlyMap<string, string | undefined> };

/**
 * Changes values within a text that parseSecretValues takes. Comments and order stay.
 *
 * @returns the new text
 */
export function changeSecretValues(
  text: string,
  { current = new Map(), previous = new Map() }: Changes,
): string {
  const { document } = parsed(text, '');
  if (!isMap(document.contents)) document.contents = document.createNode({}) as never;
  const put = (path: readonly string[], value: string | undefined): void => {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, value);
  };
  for (const [name, value] of current) put([name], value);
  for (const [name, value] of previous) put([formerKey, name], value);
  const former = document.get(formerKey);
  if (isMap(former) && former.items.length === 0) document.delete(formerKey);
  return document.toString({ lineWidth: 0 });
}

function faultIn(value: unknown, allowed: ReturnType<AllowedIn>): string | undefined {
  if (typeof value !== 'string') return 'must be text';
  if (value === '') return 'has no value';
  if (value.length > longest) return `is ${value.length} characters long: that is no password`;
  if (/[\p{Cc}\p{Cs}]/u.test(value)) return 'must be one line of text, with no control character in it';
  if (allowed && !allowed.pattern.test(value))
    return `has a character that is not allowed: ${allowed.reason}`;
  return undefined;
}

function parsed(text: string, file: string): { document: Document; place: (node: unknown) => Place } {
  const lineCounter = new LineCounter();
  const at = (offset = 0): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const place = (node: unknown) => at((node as { range?: readonly number[] | null } | null)?.range?.[0]);
  // Duplicate names are found above: the parser compares each key with all others.
  const options = {
    schema: 'failsafe',
    version: '1.2',
    prettyErrors: false,
    uniqueKeys: false,
    lineCounter,
  } as const;
  try {
    const [document, second] = yamlDocuments(text.replace(/^\uFEFF/, ''), options);
    // The parser's own messages quote the text.
    const problems = yamlProblems([document], at, () => 'this is not YAML');
    if (second && document.errors.length === 0)
      problems.push(new Problem('there may be only one document, without ---', { where: place(second) }));
    if (problems.length > 0) throw new Problems(problems);
    return { document, place };
  } catch (error) {
    if (error instanceof Problems) throw error;
    const where = error instanceof NestedTooDeeply ? at(error.offset) : { file };
    throw new Problem('this is not YAML', { where });
  }
}
