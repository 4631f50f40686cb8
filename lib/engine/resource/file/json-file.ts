import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../problem/problem.ts';
import { changesOfFile, drift, ok, type Resource } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { newText, readText } from './edited-text.ts';
import { lineOfInexactNumber } from './exact-json.ts';

type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * Keys of a JSON object in a file, which is created if missing (0644, root's). Other keys stay, in
 * their order. A file without a JSON object is an error and stays as it is.
 *
 * @example jsonFile('/etc/docker/daemon.json', { 'log-driver': 'journald' })
 */
export function jsonFile(path: string, keys: JsonObject): Resource {
  refuseNoText('jsonFile', { path });
  const merged = (was: string) => editJson(path, was, (there) => mergeObjects(there, keys));
  return {
    name: `${path} sets ${Object.keys(keys).join(', ') || 'nothing'}`,
    changes: changesOfFile(path),

    async check(host) {
      const file = await readText(host, path);
      const was = file && parseObject(path, file.text);
      // Compared as values: the layout may differ.
      if (was && isDeepStrictEqual(was, mergeObjects(was, keys))) return ok;
      const wanted = merged(file?.text ?? '');
      const step = file ? file.to(wanted) : newText(path, wanted);
      return drift([{ what: 'content', was: was ? print(was) : '', wanted }], [step]);
    },
  };
}

/**
 * The text of a JSON file with its object changed.
 *
 * @throws Problem where it is not a JSON object, or a number in it would become another one: its
 * reader might not start any more
 */
export function editJson(path: string, text: string, change: (object: JsonObject) => JsonObject): string {
  const object = parseObject(path, text);
  const line = lineOfInexactNumber(text);
  if (line === undefined) return print(change(object));
  throw new Failure(`${path} has a number in line ${line} that would lose digits; the file was not changed`, {
    hint: 'write a smaller number there, or make the change by hand: a file that is right already is not written again',
  });
}

/** Merges objects deeply; arrays get the items that they lack; anything else is replaced. */
function mergeJson(there: Json, wanted: Json): Json {
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
  // Through entries, because an assignment to a key named __proto__ would not create a key.
  return Object.fromEntries([...Object.entries(there), ...merged]);
}

/** An empty file is an empty object, as for the Docker engine. */
function parseObject(path: string, text: string): JsonObject {
  const refuse = (why: string) =>
    new Failure(`${path} ${why}; the file was not changed`, {
      hint: 'fix the file on the host, then run again',
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

/** Only the position: the message of JSON.parse may quote the file. */
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
