import { readFileSync } from 'node:fs';

const templates = new URL('../../../templates/', import.meta.url);

/**
 * A file of a HAProxy, as it is in templates.
 *
 * @param path from templates on: `gateway/calls.lua`
 */
export function haproxyTemplate(path: string): string {
  return readFileSync(new URL(path, templates), 'utf8');
}

/**
 * A script by which HAProxy judges servers, with the functions of templates/haproxy before it.
 *
 * @param path from templates on: `gateway/fleet.lua`
 */
export function judgingScript(path: string): string {
  return haproxyTemplate('haproxy/servers.lua') + haproxyTemplate(path);
}

/**
 * A template with values in place of each `{{ name }}`. A line that is a name alone disappears
 * with an empty value. Values need no quoting: the inventory's schema refuses every character that
 * has a meaning in these files.
 *
 * @param path from templates on: `gateway/haproxy.cfg`
 * @throws TypeError for a name without a value
 */
export function filledTemplate(path: string, values: Readonly<Record<string, string>>): string {
  return haproxyTemplate(path).replace(
    /^\{\{ (\w+) \}\}\n|\{\{ (\w+) \}\}/gm,
    (_, line: string | undefined, word: string) => {
      const value = values[line ?? word];
      if (value === undefined) throw new TypeError(`templates/${path}: {{ ${line ?? word} }} has no value`);
      return line === undefined || value === '' ? value : `${value}\n`;
    },
  );
}
