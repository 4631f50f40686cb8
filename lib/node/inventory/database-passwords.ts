import { pathBeside } from '../../engine/file/private-file.ts';
import { type Located, type Path, scalarAt, scalars, valueAt } from '../../engine/inventory/located.ts';
import { type InventoryOutline, outlineInventory } from '../../engine/inventory/outline.ts';
import { secretReferencePattern } from '../../engine/inventory/secret-reference.ts';
import { referencesIn } from '../../engine/inventory/secrets-in-values.ts';
import type { Place } from '../../engine/problem/problem.ts';
import { stores } from './inventory.ts';
import { projectInventories } from './project.ts';

type Store = (typeof stores)[number];

/** One database password in an inventory's file of secrets. */
export interface DatabasePassword {
  /** Its name there: `state_db_password`, or the name in the inventory. */
  readonly name: string;
  /** Its key in the inventory: `credentials.state.password`. */
  readonly path: string;
  /**
   * References to other sources than the file of secrets. Which of several names is meant is
   * unknown: the first gets them.
   */
  readonly elsewhere: readonly { readonly where: Place; readonly reference: string }[];
  /** Whether the inventory refers to it. */
  readonly isUsed: boolean;
}

/** The secrets of one inventory. */
export interface InventorySecrets {
  readonly name: string;
  readonly file: string;
  readonly passwords: readonly DatabasePassword[];
  /**
   * Names of other secrets, such as for sudo or a receiver of alerts: they cannot be generated.
   */
  readonly others: readonly string[];
  /** The authority of `tls`, where its key is in the file of secrets. */
  readonly authority: AuthoritySecret | undefined;
}

/** The authority that signs certificates of database servers. */
interface AuthoritySecret {
  /** Of its key, in the file of secrets. */
  readonly name: string;
  /** Path of its certificate. */
  readonly file: string;
}

/**
 * Lists the secrets that an inventory needs. It may be incomplete.
 *
 * @throws Problem or Problems where it cannot be read
 */
export async function inventorySecrets(nameOrFile: string): Promise<InventorySecrets> {
  const outline = await outlineInventory(nameOrFile, projectInventories);
  const settings = [outline.ssh, ...outline.hosts.map(({ own }) => own)];
  const sudo = settings.flatMap((each) => secretName(textAt(each, ['become_password'])) ?? []);
  const passwords = [
    ...stores.flatMap((store) => passwordsOf(store, outline)),
    ...['backup', 'replica'].flatMap((group) => copyingPassword(group, outline)),
  ];
  const variables = outline.hosts.length > 0 ? outline.hosts.map(({ vars }) => vars) : [outline.vars];
  const inVariables = variables
    .flatMap((vars) => [...scalars(vars)])
    .flatMap(({ scalar: { value } }) => referencesIn(value).flatMap((text) => secretName(text) ?? []));
  const authority = authorityOf(outline);
  const known = new Set([...passwords.map(({ name }) => name), authority?.name]);
  const others = new Set([...sudo, ...inVariables].filter((name) => !known.has(name)));
  return { name: outline.name, file: outline.file, passwords, others: [...others], authority };
}

function authorityOf({ hosts, vars }: InventoryOutline): AuthoritySecret | undefined {
  const located = hosts[0]?.vars ?? vars;
  const name = secretName(textAt(located, ['tls', 'key']));
  const path = textAt(located, ['tls', 'ca']);
  const at = valueAt(located, ['tls', 'ca'])?.at;
  return name && path && at ? { name, file: pathBeside(at.file, path) } : undefined;
}

/**
 * The password with which the hosts of a group copy the database server: a deploy gives it to
 * both.
 */
function copyingPassword(group: string, outline: InventoryOutline): DatabasePassword[] {
  const host = outline.hosts.find(({ groups }) => groups.includes(group));
  const name = secretName(textAt(valueAt(host?.vars ?? outline.vars, [group, 'password']), []));
  return name === undefined ? [] : [{ name, path: `${group}.password`, elsewhere: [], isUsed: true }];
}

function passwordsOf(store: Store, outline: InventoryOutline): DatabasePassword[] {
  const path = ['credentials', store, 'password'];
  const hosts = outline.hosts.length > 0 ? outline.hosts : [undefined];
  const references = hosts.flatMap((host) => {
    const located = valueAt(host?.vars ?? outline.vars, path);
    const reference = textAt(located, []);
    return located && reference !== undefined
      ? { where: located.at, reference, name: secretName(reference) }
      : [];
  });
  const names = new Set(references.flatMap(({ name }) => name ?? []));
  if (names.size === 0) names.add(`${store}_db_password`);
  const others = references.filter(({ name }) => name === undefined);
  const elsewhere = new Map(
    others.map(({ where, reference }) => [JSON.stringify(where), { where, reference }]),
  );
  return [...names].map((name, i) => ({
    name,
    path: path.join('.'),
    elsewhere: i === 0 ? [...elsewhere.values()] : [],
    isUsed: references.some(({ name: own }) => own === name),
  }));
}

/** The entry of a reference `secret:NAME`. */
function secretName(reference: string | undefined): string | undefined {
  return reference && secretReferencePattern.test(reference)
    ? /^secret:(.+)$/.exec(reference)?.[1]
    : undefined;
}

/** The text of the scalar at a path, or of the items of a list. */
function textAt(located: Located | undefined, path: Path): string | undefined {
  const value = valueAt(located, path);
  if (value?.kind === 'list') return value.items.map((item) => textAt(item, [])).join(',');
  return scalarAt(value, [])?.toString();
}
