import { inspect } from 'node:util';

const known = new Set<string>();
const shown = '[secret]';

/**
 * A value that must never be visible: it prints as `[secret]` wherever it is printed, logged or serialised.
 * Every value is also remembered for `redact`, the last safeguard of all output.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    if (value.length >= 4) known.add(value);
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

/** The text with every known secret in it masked. Every line of output passes through here. */
export function redact(text: string): string {
  let clean = text;
  for (const value of known) clean = clean.replaceAll(value, shown);
  return clean;
}

/** The bytes of a content, to be sent to a host. */
export function bytesOf(content: string | Buffer | Secret): Buffer {
  return Buffer.from(content instanceof Secret ? content.reveal() : content);
}
