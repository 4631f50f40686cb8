import { type InventoryOutline, type OutlinedHost, outlineInventory } from '../../engine/inventory/load.ts';
import { type Located, type Path, valueAt } from '../../engine/inventory/located.ts';
import { secretReferencePattern } from '../../engine/inventory/secret-reference.ts';
import type { Place } from '../../engine/problem/problem.ts';
import { stores } from './inventory.ts';

/** One password of a database in an inventory's file of secrets. */
export interface DatabasePassword {
  /** Its name there: `state_db_password`, or what the inventory calls it. */
  readonly name: string;
  /** Where in the inventory it belongs: `credentials.state.password`. */
  readonly path: string;
  /** Where the inventory still refers to something else. */
  readonly elsewhere: readonly { readonly where: Place; readonly reference: string }[];
  /** Which roles of which servers have it; none where the inventory does not refer to it. */
  readonly roles: readonly DatabaseRole[];
}

/** A role of a database server. What the inventory does not say yet is called by its key. */
export interface DatabaseRole {
  readonly host: string;
  /** How a shell reaches the host: `ssh -t deploy@10.0.0.11`; empty for this machine. */
  readonly connection: string;
  /** Whether docker needs sudo there; undefined where only the operator's ssh_config knows. */
  readonly sudo: boolean | undefined;
  readonly container: string;
  readonly superuser: string;
  readonly database: string;
  readonly user: string;
}

/** The secrets of one inventory. */
export interface InventorySecrets {
  readonly name: string;
  readonly file: string;
  readonly passwords: readonly DatabasePassword[];
  /** Secrets that it refers to and that are no password of a database, such as for sudo: nobody can make those up. */
  readonly others: readonly string[];
}

/**
 * Says which secrets an inventory needs, complete or not.
 *
 * @throws Problem or Problems where it cannot be read
 */
export async function inventorySecrets(
  nameOrFile: string,
  options: { folder?: string } = {},
): Promise<InventorySecrets> {
  const outline = await outlineInventory(nameOrFile, options);
  const sudo = [outline.ssh, ...outline.hosts.map(({ own }) => own)].map((part) =>
    secretName(at(part, ['become_password'])),
  );
  return {
    name: outline.name,
    file: outline.file,
    passwords: stores.flatMap((store) => passwordsOf(store, outline)),
    others: [...new Set(sudo.filter((name) => name !== undefined))],
  };
}

function passwordsOf(store: (typeof stores)[number], outline: InventoryOutline): DatabasePassword[] {
  const path = ['credentials', store, 'password'];
  const hosts = outline.hosts.length > 0 ? outline.hosts : [undefined];
  const found = hosts.map((host) => ({ host, located: valueAt(host?.vars ?? outline.vars, path) }));
  const names = new Set(found.flatMap(({ located }) => secretName(text(located)) ?? []));
  if (names.size === 0) names.add(`${store}_db_password`);

  const elsewhere = new Map<string, { where: Place; reference: string }>();
  for (const { located } of found) {
    const reference = text(located);
    if (located === undefined || reference === undefined || secretName(reference) !== undefined) continue;
    elsewhere.set(JSON.stringify(located.at), { where: located.at, reference });
  }
  return [...names].map((name, i) => ({
    name,
    path: path.join('.'),
    // Of several names nobody can say which is meant; the first is as good as any.
    elsewhere: i === 0 ? [...elsewhere.values()] : [],
    roles: found.flatMap(({ host, located }) => {
      const isHere = store === 'pool' || host?.group === 'database';
      return host && isHere && secretName(text(located)) === name ? [roleOf(store, host, outline)] : [];
    }),
  }));
}

function roleOf(store: (typeof stores)[number], host: OutlinedHost, { ssh }: InventoryOutline): DatabaseRole {
  const said = (path: Path): string => only(inCommands, text(valueAt(host.vars, path))) ?? `<${path.join('.')}>`;
  const server = store === 'pool' ? 'pool' : 'state';
  const own = (key: string): string | undefined => only(inCommands, at(host.own, [key]) ?? at(ssh, [key]));
  const user = own('user');
  const isLocal = own('connection') === 'local';
  const jump = only(inCommands, several(host.own, 'jump') ?? several(ssh, 'jump'));
  const words = [
    'ssh -t',
    ...(own('port') === undefined ? [] : [`-p ${own('port')}`]),
    ...(jump === undefined ? [] : [`-J ${jump}`]),
    `${user === undefined ? '' : `${user}@`}${own('address') ?? `<address of ${only(inCommands, host.name) ?? 'the host'}>`}`,
  ];
  return {
    host: host.name,
    connection: isLocal ? '' : words.join(' '),
    sudo: user === undefined ? (isLocal ? false : undefined) : user !== 'root',
    container: `${server}-db`,
    superuser: said(['credentials', server, 'user']),
    database: said(['credentials', server, 'database']),
    user: said(['credentials', store, 'user']),
  };
}

/** The entry that a reference `secret:NAME` names. */
function secretName(reference: string | undefined): string | undefined {
  if (reference === undefined || !secretReferencePattern.test(reference)) return undefined;
  return /^secret:(.+)$/.exec(reference)?.[1];
}

function at(located: Located | undefined, path: Path): string | undefined {
  return text(valueAt(located, path));
}

function text(located: Located | undefined): string | undefined {
  return located?.kind === 'scalar' && located.value !== null ? String(located.value) : undefined;
}

function several(located: Located | undefined, key: string): string | undefined {
  const value = valueAt(located, [key]);
  return value?.kind === 'list' ? value.items.map(text).join(',') : text(value);
}

/**
 * What may stand in a command that an operator is told to run: nobody has checked this inventory. Nothing in it is more to a shell
 * than a character, inside quotes of any kind or outside.
 */
const inCommands = /^[A-Za-z0-9_.~:@,+[\]][A-Za-z0-9_.~:@,+[\]-]*$/;

function only(pattern: RegExp, value: string | undefined): string | undefined {
  return value !== undefined && pattern.test(value) ? value : undefined;
}
