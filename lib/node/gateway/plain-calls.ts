/**
 * Regular expressions (PCRE2) of what HAProxy judges without the reader of templates/gateway/calls.lua.
 * A body that matches is read by that one in the same way: no escapes, each field of a call once,
 * by its exact name, and no field called method or id in the parameters. All other bodies go to the reader.
 */
const blank = '[ \\t\\r\\n]*+';
const text = '"[^"\\\\\\x00-\\x1f]*+"';
const number = '-?+(?>0|[1-9][0-9]*+)(?>\\.[0-9]++)?+(?>[eE][+-]?+[0-9]++)?+';

/** A text that holds lists or objects, of which each entry matches `entry`. */
const nested = (entry: string) => {
  const entries = (each: string) => `(?>${each}${blank}(?>,${blank}${each}${blank})*+)?+`;
  const list = `\\[${blank}${entries(entry)}\\]`;
  const object = `\\{${blank}${entries(`(?&key)${entry}`)}\\}`;
  return `(?>(?&text)|${list}|${object}|(?&scalar))`;
};

/** Parameters of usual methods have at most four: a filter of logs has lists of topics. */
const depths = ['in1', 'in2', 'in3', 'in4'];

/** The fields of a call: name of the group, name of the field, value. */
const fields = [
  ['j', 'jsonrpc', '"2\\.0"'],
  ['i', 'id', '(?>0|[1-9][0-9]{0,14}+)'],
  ['m', 'method', '"([A-Za-z0-9_]{1,64}+)"'],
  ['p', 'params', `(?&${depths.at(-1)})`],
] as const;

/** The group of the method's name, counted from the beginning of an expression. */
const methodGroup = 4;

/** A field that has been there is not there again. */
const field = fields
  .map(([group, name, value]) => `(?(${group})(?!)|(?<${group}>"${name}")${blank}:${blank}${value})`)
  .join('|');
const call = `\\{${blank}(?>(?>${field})${blank}(?>,${blank}(?=")|(?=\\})))++\\}(?(m)|(?!))`;

/** At the end of an expression, so that groups in front of it have low numbers. */
function definitions(parts: readonly (readonly [name: string, content: string])[]): string {
  return `(?(DEFINE)${parts.map(([name, content]) => `(?<${name}>${content})`).join('')})`;
}

const values = [
  ['text', text],
  ['key', `(?!"(?:method|id)")(?&text)${blank}:${blank}`],
  ['scalar', `true|false|null|${number}`],
  ['in0', '(?&text)|(?&scalar)'],
  ...depths.map((name, at) => [name, nested(`(?&in${at})`)] as const),
] as const;

/** A single call. */
export const plainCall = `^${blank}${call}${blank}\\z${definitions(values)}`;

/** A batch of one call or more. What a group has matched is forgotten behind (?&call). */
export const plainBatch = `^${blank}\\[${blank}(?&call)${blank}(?>,${blank}(?&call)${blank})*+\\]${blank}\\z${definitions([...values, ['call', call]])}`;

/**
 * A file for HAProxy's maps by regular expressions, in which a blank ends an expression. For
 * `map_regm` its value is the method of a single call.
 */
export const plainMap = (pattern: string): string =>
  `${pattern.replaceAll('[ ', '[\\x20')} \\${methodGroup}\n`;
