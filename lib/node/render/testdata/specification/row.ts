/**
 * Types as in the specification's tables. An integer has no fraction and no quotes, a duration is
 * text that ends in a unit, and a number may be an integer or have a fraction.
 */
export type Type = 'boolean' | 'string' | 'integer' | 'number' | 'duration' | 'string list';

/** A row of the specification; `{...}` and `<...>` in text are placeholders. */
export type Row = readonly [section: string, key: string, type: Type, value: unknown];

/** Generations of configuration, and the two kinds of host. */
export type GenerationName = 'current' | 'older';
export type Server = 'database' | 'rpc';

/** `Section.Key`; at the top level the key alone. */
export function pathOf([section, key]: readonly [section: string, key: string, ...unknown[]]): string {
  return section === '' ? key : `${section}.${key}`;
}
