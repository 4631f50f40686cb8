import type * as z from 'zod';
import { Problem } from '../problem/problem.ts';
import { didYouMean, suggest } from '../text/suggest.ts';
import { keyPlace, type Located, type LocatedScalar, type Path, valueAt, valuePlace } from './located.ts';

type Issue = z.core.$ZodIssue;
type Schema = z.core.$ZodType;

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

/**
 * What a schema found wrong with a located value, in words and with the place of the very key or value. No value is repeated:
 * it might be a password in the wrong line.
 *
 * @param label how a path is called: `network.l1_rpc_url`
 */
export function problemsOf(
  issues: readonly Issue[],
  located: Located,
  schema: Schema,
  label: (path: Path) => string,
): Problem[] {
  return issues.flatMap((issue) => describe(issue, located, schema, label));
}

function describe(issue: Issue, located: Located, schema: Schema, label: (path: Path) => string): Problem[] {
  const path = issue.path;
  const name = label(path);
  const value = valueAt(located, path);

  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) =>
        new Problem(`unknown key ${label([...path, key])}`, {
          where: keyPlace(located, [...path, key]),
          hint: didYouMean(key, keysOf(schemaAt(schema, path))),
        }),
    );
  }
  if (value === undefined) {
    const described = descriptionAt(schema, path);
    return [new Problem(`${name} is missing`, { where: keyPlace(located, path), hint: described })];
  }
  const where = valuePlace(located, path);
  if (value.kind === 'scalar' && value.value === null) {
    return [new Problem(`${name} has no value`, { where: keyPlace(located, path), hint: descriptionAt(schema, path) })];
  }
  if (issue.code === 'invalid_key') {
    return [new Problem(`${name}: the name ${messageOf(issue.issues[0])}`, { where: keyPlace(located, path) })];
  }
  if (issue.code === 'invalid_union') {
    const nearestBranch =
      issue.errors.find((branch) => branch.every((inner) => inner.code !== 'invalid_type')) ?? issue.errors[0];
    const inner = nearestBranch?.[0];
    if (inner) return describe({ ...inner, path: [...path, ...inner.path] } as Issue, located, schema, label);
  }
  return [
    new Problem(`${name} ${wordsFor(issue, value, schemaAt(schema, path))}`, { where, hint: hintFor(issue, value) }),
  ];
}

function wordsFor(issue: Issue, value: Located, wanted: Schema | undefined): string {
  switch (issue.code) {
    case 'invalid_type': {
      const { def } = core(wanted) ?? {};
      const kind = def?.type === 'number' && 'format' in def ? 'int' : issue.expected;
      return `must be ${kinds[kind] ?? kind}, not ${kindOf(value)}`;
    }
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return issue.origin === 'string'
        ? `must be at most ${issue.maximum} characters long`
        : `must be at most ${issue.maximum}`;
    case 'invalid_format':
      if (issue.format === 'url') return 'must be a web address (http:// or https://)';
      if (issue.format === 'date') return 'must be a day, YYYY-MM-DD';
      return messageOf(issue);
    default:
      return messageOf(issue);
  }
}

function tooSmall(issue: z.core.$ZodIssueTooSmall): string {
  if (issue.origin === 'string') return 'must not be empty';
  if (issue.origin === 'array') return `must have at least ${issue.minimum} in it`;
  return issue.inclusive === false ? `must be more than ${issue.minimum}` : `must be at least ${issue.minimum}`;
}

function hintFor(issue: Issue, value: Located): string | undefined {
  if (value.kind !== 'scalar') return undefined;
  if (typeof value.value !== 'string') {
    return issue.code === 'invalid_type' && issue.expected === 'string' ? inQuotes(value) : undefined;
  }
  if (issue.code === 'invalid_value') {
    const meant = suggest(value.value, issue.values.map(String));
    return meant === undefined ? undefined : `did you mean ${meant}?`;
  }
  if (issue.code === 'invalid_type' && issue.expected === 'boolean' && /^(yes|no|on|off)$/i.test(value.value)) {
    return 'YAML 1.2 knows only true and false';
  }
  if (
    issue.code === 'invalid_type' &&
    (issue.expected === 'number' || issue.expected === 'int') &&
    /^-?\d+$/.test(value.value)
  ) {
    return 'write it without quotes';
  }
  return undefined;
}

/** What a number loses may be what tells one checksum or version from another. */
function inQuotes({ value, at }: LocatedScalar): string {
  // What was said on the command line has no line, and the shell takes the outer quotes away.
  const put = at.line === undefined ? `put it in quotes within the shell's, '"…"'` : "put it in quotes, '…'";
  return typeof value === 'boolean'
    ? put
    : `${put}: as a number it loses zeros in front and digits after the sixteenth`;
}

function messageOf(issue: { readonly message: string } | undefined): string {
  const message = issue?.message ?? 'is not allowed';
  return message.startsWith('must') || message.startsWith('is ') || message.startsWith('only ')
    ? message
    : `is not allowed: ${message}`;
}

function kindOf(value: Located): string {
  if (value.kind === 'list') return 'a list';
  if (value.kind === 'map') return 'a mapping';
  if (typeof value.value === 'string') return 'text';
  if (typeof value.value === 'boolean') return 'true or false';
  return typeof value.value === 'bigint' || Number.isInteger(value.value) ? 'a whole number' : 'a number';
}

/** The schema of the value at a path, through defaults and optionals. */
function schemaAt(schema: Schema | undefined, path: Path): Schema | undefined {
  return path.reduce<Schema | undefined>((at, step) => {
    const { def } = core(at) ?? {};
    if (def?.type === 'object') return Object.hasOwn(def.shape, step) ? def.shape[String(step)] : undefined;
    if (def?.type === 'record') return def.valueType;
    if (def?.type === 'array') return def.element;
    return undefined;
  }, schema);
}

function keysOf(schema: Schema | undefined): string[] {
  const { def } = core(schema) ?? {};
  return def?.type === 'object' ? Object.keys(def.shape) : [];
}

function core(schema: Schema | undefined): { def: z.core.$ZodTypes['_zod']['def'] } | undefined {
  if (!schema) return undefined;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ('innerType' in def) return core(def.innerType as Schema);
  if (def.type === 'pipe') return core(def.in);
  return { def };
}

function descriptionAt(schema: Schema, path: Path): string | undefined {
  const found = schemaAt(schema, path);
  return found && 'description' in found && typeof found.description === 'string' ? found.description : undefined;
}
