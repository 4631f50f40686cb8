import type { Variables } from '../variables/variables.ts';

/** The limits of clients, as templates/gateway/calls.lua reads them. */
export function rulesFile({ clients }: Pick<Variables['gateway'], 'clients'>): string {
  const { requests, batch, body } = clients;
  return `-- What clients may do.\nrules = ${luaOf({ requests, batch, body })}\n`;
}

type Value = number | string | readonly Value[] | { readonly [key: string]: Value };

/** A value as Lua reads it. Text has no character that Lua writes in another way than JSON. */
function luaOf(value: Value): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Array.isArray(value)
    ? value.map(luaOf)
    : Object.entries(value).map(([key, each]) => `[${JSON.stringify(key)}] = ${luaOf(each)}`);
  return `{ ${entries.join(', ')} }`;
}
