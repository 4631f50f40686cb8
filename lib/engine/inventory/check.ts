import type * as z from 'zod';
import { Problem } from '../problem/problem.ts';
import { didYouMean, suggest } from '../text/suggest.ts';
import { keyPlace, type Located, pathName, plain, valueAt, valuePlace } from './located.ts';

/**
 * Checks a located value by a schema. No problem repeats a value: it may be a password in the
 * wrong line.
 *
 * A message of the schema continues the name of its key, `must be a size`, and may have a second
 * line, which becomes the hint.
 *
 * @param partial whether keys may be missing, because a source of them could not be read
 * @returns the output of the schema, and one problem for each issue, at its key or value
 */
export function check<S extends z.ZodType>(
  schema: S,
  located: Located,
  partial = false,
): { readonly data: z.output<S> | undefined; readonly problems: readonly Problem[] } {
  const { data, error } = schema.safeParse(plain(located), { error: wordsOf });
  const issues = error?.issues.filter(({ path }) => !partial || valueAt(located, path) !== undefined) ?? [];
  return { data, problems: issues.flatMap((issue) => problemsOf(issue, located)) };
}

function problemsOf(issue: z.core.$ZodIssue, located: Located): Problem[] {
  const { path } = issue;
  const lines = issue.message.split('\n');
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key, i) => {
        const where = keyPlace(located, [...path, key]);
        return new Problem(`unknown key ${pathName([...path, key])}`, { where, hint: lines[i] });
      });
    case 'invalid_key':
      return [
        new Problem(`${pathName(path)}: the name ${issue.issues[0]?.message}`, {
          where: keyPlace(located, path),
        }),
      ];
    case 'invalid_union': {
      // A word in place of the whole value, such as false, is another type, too.
      const isOfWhole = ({ code, path: at }: z.core.$ZodIssue) =>
        at.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
      const isOther = (each: z.core.$ZodIssue) => each.code === 'invalid_type' || isOfWhole(each);
      const nearest = issue.errors.find((branch) => !branch.some(isOther));
      // A schema may say itself which types it takes.
      const isSaid = issue.message !== '' && issue.errors.every((branch) => branch.some(isOfWhole));
      const inner = nearest ?? (isSaid ? undefined : issue.errors[0]) ?? [];
      if (inner.length > 0)
        return inner.flatMap((each) => problemsOf({ ...each, path: [...path, ...each.path] }, located));
    }
  }
  const value = valueAt(located, path);
  const where =
    value?.kind === 'scalar' && value.value === null ? keyPlace(located, path) : valuePlace(located, path);
  // A value from the command line has no line, and the shell removes the outer quotes.
  const hint =
    where.line === undefined ? lines[1]?.replace("'…'", `'"…"' (the shell takes the outer ones)`) : lines[1];
  return [new Problem(`${pathName(path)} ${lines[0]}`, { where, hint })];
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  fraction: 'a number with a fraction',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

/**
 * The message of an issue for which the schema has none. For unknown keys: one hint in each line.
 */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  const { def } = (issue.inst as z.core.$ZodTypes)._zod;
  if (issue.code === 'unrecognized_keys') {
    const known = def.type === 'object' ? Object.keys(def.shape) : [];
    return issue.keys.map((key) => didYouMean(key, known)).join('\n');
  }
  if (input === undefined || input === null) {
    const { description } = issue.inst as z.ZodType;
    return withHint(input === null ? 'has no value' : 'is missing', description);
  }
  switch (issue.code) {
    case 'invalid_type': {
      const expected = def.type === 'number' && 'format' in def ? 'int' : issue.expected;
      const inQuotes = expected === 'string' ? messageInQuotes(issue.inst as z.ZodType, input) : undefined;
      return (
        inQuotes ??
        withHint(`must be ${typeNames[expected]}, not ${typeNames[typeOf(input)]}`, typeHint(expected, input))
      );
    }
    case 'invalid_value': {
      const meant = suggest(String(input), issue.values.map(String));
      return withHint(`must be one of ${issue.values.join(', ')}`, meant && `did you mean ${meant}?`);
    }
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      if (issue.origin === 'array') return `must have at least ${issue.minimum} in it`;
      return issue.inclusive === false
        ? `must be more than ${issue.minimum}`
        : `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${issue.origin === 'string' ? ' characters long' : ''}`;
    case 'invalid_union':
      return '';
    default:
      return undefined;
  }
}

/**
 * What is wrong with a number also where it is in quotes, such as a size without its unit. One that
 * lost digits is not judged.
 */
function messageInQuotes(schema: z.ZodType, input: unknown): string | undefined {
  if (!Number.isSafeInteger(input)) return undefined;
  return schema.safeParse(String(input)).error?.issues[0]?.message;
}

function withHint(words: string, hint: string | undefined): string {
  return hint === undefined ? words : `${words}\n${hint}`;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint' || Number.isInteger(value)) return 'int';
  return typeof value === 'number' ? 'fraction' : typeof value;
}

function typeHint(expected: string, input: unknown): string | undefined {
  if (expected === 'string' && typeof input === 'boolean') return "put the value in quotes, '…'";
  if (expected === 'string' && typeof input !== 'object') {
    return "put the value in quotes, '…': as a number it loses zeros in front and digits after the sixteenth";
  }
  if (typeof input !== 'string') return undefined;
  if (expected === 'boolean' && /^(yes|no|on|off)$/i.test(input)) return 'YAML 1.2 knows only true and false';
  if (!/^(number|int)$/.test(expected)) return undefined;
  if (/^-?\d+$/.test(input)) return 'write the value without quotes';
  return /^-?\d+(\.\d+)? ?([a-z]+|%)$/i.test(input)
    ? 'write the number alone, in the unit of the key: docs/configuration.md has it'
    : undefined;
}
