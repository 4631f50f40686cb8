import { type Document, isMap, isScalar, LineCounter, type Pair, type YAMLMap } from 'yaml';
import { NestedTooDeeply, yamlDocuments } from '../file/yaml-documents.mjs';
import { worthShowing, yamlFault } from '../file/yaml-fault.ts';
import { type Place, Problem, Problems } from '../problem/problem.ts';

/** What may be the name of a secret. */
export const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
/** Under it stand the values from before a rotation. */
const formerKey = 'previous';
/** No password is longer. Characters. */
const longest = 4096;

/** What a file of secrets holds. */
export interface SecretValues {
  readonly current: ReadonlyMap<string, string>;
  /** From before a rotation, while a database may still have them. */
  readonly previous: ReadonlyMap<string, string>;
}

/** Which characters may be in a secret, and why no others; undefined: any, in one line. */
export type AllowedIn = (name: string) => { readonly pattern: RegExp; readonly reason: string } | undefined;

/**
 * Reads the plain text of a file of secrets: a YAML mapping of names to text, where everything is text as it stands, `0123` too.
 *
 * @param file as problems call it
 * @throws Problems with all that is wrong, each with its place. No value is ever told.
 */
export function parseSecretValues(text: string, file: string, allowed: AllowedIn = () => undefined): SecretValues {
  const { document, place, problems } = parsed(text, file);
  if (problems.length > 0) throw new Problems(problems);
  const map = document.contents;
  if (map === null || (isScalar(map) && map.value === '')) return { current: new Map(), previous: new Map() };
  if (!isMap(map))
    throw new Problem('this must be a mapping, one NAME: VALUE a line', { where: place(map.range?.[0]) });

  const read = (from: YAMLMap, at: string): Map<string, string> => {
    const values = new Map<string, string>();
    const met = new Set<string>();
    for (const { key, value } of from.items as Pair[]) {
      const where = place(rangeOf(key));
      const name = isScalar(key) ? key.value : undefined;
      if (typeof name === 'string' && met.has(name)) {
        problems.push(new Problem('this name stands here a second time', { where }));
        continue;
      }
      met.add(String(name));
      if (typeof name !== 'string' || !secretNamePattern.test(name)) {
        problems.push(
          new Problem('a name must start with a letter or digit and hold only letters, digits, _ . -', { where }),
        );
      } else if (at === '' && name === formerKey) {
        if (isMap(value)) for (const [former, kept] of read(value, `${formerKey}.`)) previous.set(former, kept);
        else
          problems.push(
            new Problem(`${formerKey} must be a mapping: it keeps the values from before a rotation`, { where }),
          );
      } else {
        const fault = faultIn(isScalar(value) ? value.value : undefined, allowed(name));
        if (fault)
          problems.push(new Problem(`${at}${name} ${fault}`, { where: place(rangeOf(value) ?? rangeOf(key)) }));
        else values.set(name, String((value as { value: unknown }).value));
      }
    }
    return values;
  };
  const previous = new Map<string, string>();
  const current = read(map, '');
  if (problems.length > 0) throw new Problems(problems);
  return { current, previous };
}

/** What to put into a file of secrets; undefined takes a value out. */
export interface Changes {
  readonly current?: ReadonlyMap<string, string | undefined>;
  readonly previous?: ReadonlyMap<string, string | undefined>;
}

/**
 * Changes values within a text that parseSecretValues takes. Comments and order stay.
 *
 * @returns the new text
 */
export function changeSecretValues(text: string, { current = new Map(), previous = new Map() }: Changes): string {
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
  if (allowed && !allowed.pattern.test(value)) return `has a character that is not allowed: ${allowed.reason}`;
  return undefined;
}

function parsed(
  text: string,
  file: string,
): { document: Document; place: (offset?: number) => Place; problems: Problem[] } {
  const lineCounter = new LineCounter();
  const place = (offset = 0): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  try {
    const [document, second] = yamlDocuments(text.replace(/^\uFEFF/, ''), {
      schema: 'failsafe',
      version: '1.2',
      prettyErrors: false,
      lineCounter,
      // Looked for by ourselves: the parser compares each key with all others.
      uniqueKeys: false,
    });
    // The parser's own words quote the text.
    const problems = worthShowing(document.errors, document.warnings).map(({ code, pos }) => {
      const { message, hint } = yamlFault(code, 'this is not YAML');
      return new Problem(message, { where: place(pos[0]), hint });
    });
    if (second && document.errors.length === 0)
      problems.push(new Problem('there may be only one document, without ---', { where: place(second.range[0]) }));
    return { document, place, problems };
  } catch (error) {
    const where = error instanceof NestedTooDeeply ? place(error.offset) : { file };
    throw new Problem('this is not YAML', { where });
  }
}

function rangeOf(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null | undefined)?.range?.[0];
}
