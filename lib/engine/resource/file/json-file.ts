import { isDeepStrictEqual } from 'node:util';
import { exitCode, Problem } from '../../problem/problem.ts';
import { changesOfFile } from '../change.ts';
import { drift, ok, type Resource } from '../resource.ts';
import { editedText } from './edited-text.ts';
import { refuseInexact } from './exact-json.ts';

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Keys that have to stand in a JSON file which something else may have keys in, too. */
export interface JsonFileResource extends Resource {
  merge(keys: JsonObject): JsonFileResource;
}

/**
 * A JSON object in a file, made where it is missing (0644, root's). Keys that are not named here stay, in their order. A file
 * that is not a JSON object is an error and stays as it is: what its author meant is not known.
 */
export function jsonFile(path: string): JsonFileResource {
  return make(path, {});
}

function make(path: string, keys: JsonObject): JsonFileResource {
  const file = editedText(path);
  return {
    name: `${path} sets ${Object.keys(keys).join(', ') || 'nothing'}`,
    changes: changesOfFile(path),
    merge: (more) => make(path, mergeObjects(keys, more)),

    async check(host) {
      const text = await file.read(host);
      const was = text === undefined ? undefined : parseObject(path, text);
      const wanted = mergeObjects(was ?? {}, keys);
      // Compared as values: another layout of the same object is nobody's business.
      if (was && isDeepStrictEqual(was, wanted)) return ok;
      refuseInexact(path, text ?? '');
      return drift([{ what: 'content', was: was ? print(was) : '', wanted: print(wanted) }]);
    },

    async apply(host) {
      const merged = (was: string) => {
        const there = parseObject(path, was);
        refuseInexact(path, was);
        return print(mergeObjects(there, keys));
      };
      if (await file.change(host, merged)) return;
      await host.write(path, print(mergeObjects({}, keys)), { mode: 0o644, owner: 'root', group: 'root' });
    },
  };
}

/** Objects are merged deeply, arrays united (what is there first, then what is missing); anything else is replaced. */
export function mergeJson(there: Json, wanted: Json): Json {
  if (isObject(there) && isObject(wanted)) return mergeObjects(there, wanted);
  if (Array.isArray(there) && Array.isArray(wanted)) {
    const missing = wanted.filter((item) => !there.some((other) => isDeepStrictEqual(item, other)));
    return [...there, ...missing];
  }
  return wanted;
}

function mergeObjects(there: JsonObject, wanted: JsonObject): JsonObject {
  const merged = Object.entries(wanted).map(([key, value]): [string, Json] => {
    const old = Object.hasOwn(there, key) ? there[key] : undefined;
    return [key, old === undefined ? value : mergeJson(old, value)];
  });
  // Through entries, as assigning to a key named __proto__ would not make a key.
  return Object.fromEntries([...Object.entries(there), ...merged]);
}

/** An empty file is an empty object, as the Docker engine has it. */
function parseObject(path: string, text: string): JsonObject {
  const refuse = (why: string) =>
    new Problem(`${path} ${why}; it is left as it is`, {
      hint: 'mend it by hand, then run again',
      code: exitCode.failed,
    });
  if (text.trim() === '') return {};
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw refuse(`is not valid JSON${placeOf(error, text)}`);
  }
  if (!isObject(value)) throw refuse('holds JSON, but not an object');
  return value;
}

/** The engine's own message may quote the file, so only the position is taken from it. */
function placeOf(error: unknown, text: string): string {
  const position = /position (\d+)/.exec(String(error))?.[1];
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function print(value: JsonObject): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
