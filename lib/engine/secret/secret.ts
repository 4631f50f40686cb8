import { inspect } from 'node:util';

/** Longest first: one secret may begin as another. */
let known: readonly string[] = [];
const shown = '[secret]';

/**
 * A value that must never be visible: it prints as `[secret]` wherever it is printed, logged or
 * serialised. Every value is also remembered for `redact`, the last safeguard of all output.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    remember(value);
    // A key in PEM is printed line by line. Its first and last line are the same in all keys.
    if (value.includes('\n'))
      for (const line of value.split('\n')) if (!line.startsWith('-----')) remember(line.trim());
  }

  /** The value itself, for a standard input or a file of mode 0600 and nothing else. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}

function remember(value: string): void {
  if (value.length < 4 || known.includes(value)) return;
  known = [...known, value].sort((a, b) => b.length - a.length);
}

/** The text with every known secret in it masked. Every line of output passes through here. */
export function redact(text: string): string {
  let clean = text;
  for (const value of known) clean = clean.replaceAll(value, shown);
  return clean;
}

/**
 * The beginning of a text from outside. Secrets are masked before it is cut: half a secret would
 * be known to nothing that masks.
 *
 * @param most characters
 */
export function excerpt(text: string, most: number): string {
  return redact(text).slice(0, most);
}

/** The bytes of a content, to be sent to a host. */
export function bytesOf(content: string | Buffer | Secret): Buffer {
  return Buffer.from(content instanceof Secret ? content.reveal() : content);
}
