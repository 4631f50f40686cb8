import type { RenderContext } from '../render/render-context.ts';
import type { Variables } from '../variables/variables.ts';

type Gateway = Variables['gateway'];

/** What clients may ask, and how much, as templates/gateway/calls.lua and fleet.lua read it. */
export function rulesFile({ gateway, hosts }: { gateway: Gateway } & Pick<RenderContext, 'hosts'>): string {
  const { clients, methods, keys } = gateway;
  const usual = { requests: clients.requests, batch: clients.batch, ...methodsOf(methods) };
  const ofKeys = keys.map(({ name, requests, batch, methods: own }) => [
    name,
    {
      requests: requests ?? usual.requests,
      batch: batch ?? usual.batch,
      ...methodsOf({ allow: own?.allow ?? methods.allow, deny: own?.deny ?? methods.deny }),
    },
  ]);
  const heavyHosts = hosts.filter(({ vars }) => vars.methods === 'heavy').map(({ name }) => [name, true]);
  const rules = luaOf({
    body: clients.body,
    // That without a name is of clients without a key.
    keys: { '': usual, ...Object.fromEntries(ofKeys) },
    limits: Object.entries(methods.limits).map(([method, most]) => ({ method, most })),
    heavy: methods.heavy,
    heavy_hosts: Object.fromEntries(heavyHosts),
  });
  return `-- What clients may do.\nrules = ${rules}\n`;
}

function methodsOf({ allow, deny }: { allow?: readonly string[] | undefined; deny: readonly string[] }) {
  return { ...(allow && { allow }), deny };
}

type Value = boolean | number | string | readonly Value[] | { readonly [key: string]: Value };

/** A value as Lua reads it. Text has no character that Lua writes in another way than JSON. */
function luaOf(value: Value): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Array.isArray(value)
    ? value.map(luaOf)
    : Object.entries(value).map(([key, each]) => `[${JSON.stringify(key)}] = ${luaOf(each)}`);
  return `{ ${entries.join(', ')} }`;
}
