import { type Place, Problem } from '../problem/problem.ts';
import { Secret } from '../secret/secret.ts';
import { type Located, type LocatedScalar, type Path, pathName, scalars } from './located.ts';
import { problemsIn } from './problem-list.ts';
import type { SecretReader } from './secret-reader.ts';
import { referenceWithin, refuseUnfit, secretReferencePattern } from './secret-reference.ts';

/** A reference of any kind within a text: those of unknown kinds are refused. */
const within = /\{\{\s*([A-Za-z]+:[^{}]*?)\s*\}\}/g;

/** The references to secrets in a value: the value itself, or those within it. */
export function referencesIn(value: LocatedScalar['value']): readonly string[] {
  if (typeof value !== 'string') return [];
  if (secretReferencePattern.test(value)) return [value];
  return [...value.matchAll(within)].flatMap(([, reference]) => reference ?? []);
}

/**
 * The secret that a text refers to, or the text with its secrets in place of the references.
 *
 * @param question `allowed` is about the whole text
 * @returns undefined for a text without a reference
 * @throws as readSecret
 */
export async function readSecretText(
  text: string,
  question: Question,
  read: SecretReader,
): Promise<Secret | undefined> {
  if (secretReferencePattern.test(text)) return read(text, question);
  const { allowed: _, ...ofPart } = question;
  const references = [...text.matchAll(referenceWithin)].flatMap(([, reference]) => reference ?? []);
  if (references.length === 0) return undefined;
  const filled = withValues(text, await secretsOf(references, ofPart, read));
  refuseUnfit(filled, text, question);
  return new Secret(filled);
}

type Question = Parameters<SecretReader>[1];

function secretsOf(references: readonly string[], question: Question, read: SecretReader): Promise<Secret[]> {
  return Promise.all(references.map((reference) => read(reference, question)));
}

/** A text with secrets in place of its references, in order. */
function withValues(text: string, secrets: readonly Secret[]): string {
  const values = secrets.map((secret) => secret.reveal());
  return text.replace(referenceWithin, () => values.shift() ?? '');
}

/** A value with references to secrets. */
interface Holder {
  readonly path: Path;
  readonly scalar: LocatedScalar;
  readonly references: readonly string[];
}

/** The values with references to secrets, each once, also where many hosts share it. */
export class SecretHolders {
  readonly #found = new Map<LocatedScalar, Holder>();
  /** The values with their secrets, of those that could be read. */
  readonly #texts = new Map<LocatedScalar, string>();

  /**
   * @param isWanted selects values by path
   */
  constructor(values: readonly Located[], isWanted: (path: Path) => boolean) {
    for (const located of values) {
      for (const { path, scalar } of scalars(located)) {
        const references = this.#found.has(scalar) || !isWanted(path) ? [] : referencesIn(scalar.value);
        if (references.length > 0) this.#found.set(scalar, { path, scalar, references });
      }
    }
  }

  get size(): number {
    return this.#found.size;
  }

  /** Whether a place is that of a value with a reference: what it is, is known only with its secret. */
  isAt(place: Place | undefined): boolean {
    return [...this.#found.keys()].some(({ at }) => at === place);
  }

  /** Problems of references within a text that are written wrongly. */
  wrong(): Problem[] {
    return [...this.#found.values()].flatMap(({ path, scalar: { at: where }, references }) =>
      references
        .filter((reference) => !secretReferencePattern.test(reference))
        .map((reference) => {
          const what = `${pathName(path)} has {{ ${reference} }} in it, which is no reference to a secret`;
          const hint = 'write {{ secret:NAME }}, {{ env:NAME }}, {{ file:PATH }} or {{ cmd:COMMAND }}';
          return new Problem(what, { where, hint });
        }),
    );
  }

  /**
   * Reads all secrets.
   *
   * @returns what is wrong with those that cannot be read
   */
  async read(reader: SecretReader): Promise<readonly Problem[]> {
    const reading = [...this.#found.values()].map(async ({ path, scalar, references }) => {
      const question = { name: pathName(path), where: scalar.at };
      try {
        const secrets = await secretsOf(references, question, reader);
        const whole = references[0] === scalar.value ? secrets[0]?.reveal() : undefined;
        this.#texts.set(scalar, whole ?? withValues(String(scalar.value), secrets));
        return [];
      } catch (error) {
        return problemsIn(error);
      }
    });
    return (await Promise.all(reading)).flat();
  }

  /** A value with its secrets in place of the references. What has none stays the same object. */
  filled(located: Located): Located {
    if (located.kind === 'scalar') {
      const text = this.#texts.get(located);
      return text === undefined ? located : { ...located, value: text };
    }
    if (located.kind === 'list') {
      const items = located.items.map((item) => this.filled(item));
      return items.every((item, at) => item === located.items[at]) ? located : { ...located, items };
    }
    const changed = [...located.entries].flatMap(([key, entry]) => {
      const value = this.filled(entry.value);
      return value === entry.value ? [] : [[key, { ...entry, value }] as const];
    });
    if (changed.length === 0) return located;
    return { ...located, entries: new Map([...located.entries, ...changed]) };
  }
}
