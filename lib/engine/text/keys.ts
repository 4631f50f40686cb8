/** Whether an object has a key itself. */
export function isKeyOf<T extends object>(object: T, key: PropertyKey): key is keyof T {
  return Object.hasOwn(object, key);
}

/**
 * The names of the keys of an object, in their order. The object has no other keys than its type
 * says.
 */
export function keysOf<T extends object>(object: T): (keyof T & string)[] {
  return Object.keys(object).filter((key): key is keyof T & string => isKeyOf(object, key));
}

/** The fields of a value of any kind, as JSON may hold; none where it is no object. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return hasFields(value) ? value : {};
}

function hasFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
