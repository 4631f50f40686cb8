import { inspect } from 'node:util';

const known = new Set<string>();
/** By how they begin, as startOf has it. Hardly any text has such a place. */
const byStart = new Map<number, string[]>();
const shown = '[secret]';

/**
 * A value that must never be visible: it prints as `[secret]` wherever it is printed, logged or
 * serialised. Every value is also remembered for `redact`, the last safeguard of all output.
 */
export class Secret {
  readonly #value: string;
  /** The value before a rotation, while something may still use it. */
  readonly former: Secret | undefined;

  constructor(value: string, former?: Secret) {
    this.#value = value;
    this.former = former;
    remember(value);
    // A key in PEM is printed line by line. Its first and last line are the same in all keys.
    if (value.includes('\n'))
      for (const line of value.split('\n')) if (!line.startsWith('-----')) remember(line.trim());
    for (const part of addressForms(value)) remember(part);
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
  if (value.length < leastMasked || known.has(value)) return;
  for (const form of formsOf(value)) {
    if (known.has(form)) continue;
    known.add(form);
    const start = startOf(form, 0);
    byStart.set(start, [...(byStart.get(start) ?? []), form]);
  }
}

/** A number for the characters from a place on, as many as each known value has. */
function startOf(text: string, place: number): number {
  let start = 0;
  for (let at = place; at < place + leastMasked; at += 1)
    start = (Math.imul(start, 31) + text.charCodeAt(at)) | 0;
  return start;
}

/** The known values in a text. A key has a hundred forms: no text is searched for each. */
function heldIn(text: string): Set<string> {
  const held = new Set<string>();
  for (let at = 0; at + leastMasked <= text.length; at += 1)
    for (const value of byStart.get(startOf(text, at)) ?? []) if (text.startsWith(value, at)) held.add(value);
  return held;
}

/** Fewer characters are in many words. */
const leastMasked = 4;
/** Fewer characters of base64 are in other base64. */
const leastOfBase64 = 6;
/** The lengths at which programs break lines of base64. */
const linesOfBase64 = [64, 76];

/**
 * A shorter path of an address is in many texts, and so is a shorter name in its path, such as
 * `v3`, or value in its query. Characters.
 */
const leastOfPath = 12;
const leastOfPart = 16;

/**
 * What programs show of an address: the address as a program has read it, and what is asked of its
 * server.
 */
function addressForms(value: string): string[] {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || !URL.canParse(value)) return [];
  const { href, username, password, pathname, protocol, search, searchParams } = new URL(value);
  const login = password === '' ? [] : [password, `${username}:${password}`];
  // The path of a database is its name.
  if (!/^(https?|wss?):$/.test(protocol)) return [href, ...login];
  const names = pathname.split('/').slice(1);
  // A provider shows the path from any of its names on.
  const ends = names.map((_, at) => names.slice(at)).filter((end) => end.some(isLikeKey));
  const paths = [pathname, pathname.slice(1), ...ends.map((end) => end.join('/'))];
  const query = search === '' ? [] : [pathname + search, search];
  const values = [...searchParams.values()].filter(({ length }) => length >= leastOfPart);
  return [
    href,
    ...login,
    ...paths.filter(({ length }) => length >= leastOfPath),
    ...query,
    ...values,
    ...names.filter(isLikeKey),
  ];
}

/** A name in a path that is no word: those of networks and of archives are in many texts. */
function isLikeKey(name: string): boolean {
  return name.length >= leastOfPart && /^[\w-]*[A-Z\d][\w-]*$/.test(name);
}

/** Escapes of JSON that some programs write and others do not: those of Go, and all but ASCII. */
function jsonForms(inJson: string): string[] {
  const escaped = (text: string, pattern: RegExp) =>
    text.replace(pattern, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const ofGo = escaped(inJson, /[<>&\u2028\u2029]/g);
  return [inJson, ofGo, escaped(inJson, /[^\0-\x7f]/g), inJson.replaceAll('/', '\\/')];
}

/** How shells and programs quote a word. */
function shellForms(value: string): string[] {
  return [
    value.replaceAll("'", "'\\''"),
    value.replaceAll("'", `'"'"'`),
    value.replace(/[$`"\\]/g, '\\$&'),
    value.replace(/[^\w@%+=:,./-]/g, '\\$&'),
  ];
}

/** As in HTML and XML. */
function markupForms(value: string): string[] {
  const basic = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = basic.replaceAll('"', '&quot;');
  return [basic, quoted, quoted.replaceAll("'", '&#39;'), quoted.replaceAll("'", '&apos;')];
}

/**
 * The ways in which programs write a value: in JSON, SQL, Compose, a shell, markup, an address, or
 * as base64.
 */
function formsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const wellFormed = Buffer.from(value).toString();
  const inAddress = [encodeURIComponent(wellFormed), encodeURI(wellFormed)];
  const ofForm = new URLSearchParams([['', wellFormed]]).toString().slice(1);
  const lowerCase = inAddress.map((text) => text.replace(/%../g, (code) => code.toLowerCase()));
  const others = [
    ...jsonForms(inJson),
    ...shellForms(value),
    ...markupForms(value),
    ...inAddress,
    ...lowerCase,
    ofForm,
    value.replaceAll("'", "''"),
    value.replaceAll('$', '$$$$'),
  ];
  const base64 = base64Forms(Buffer.from(value)).filter(({ length }) => length >= leastOfBase64);
  return [
    value,
    ...others,
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

/**
 * A value as base64: alone, in the middle of a longer text, and in lines. In a longer text three
 * bytes are four characters, so that the value may begin in three ways, and its first and last
 * character depend on its neighbours.
 */
function base64Forms(bytes: Buffer): string[] {
  const alone = bytes.toString('base64').replace(/=+$/, '');
  const inText = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const isWhole = (before + bytes.length) % 3 === 0;
    return text.slice(Math.ceil((before * 4) / 3), isWhole ? undefined : -1);
  });
  const inLines = linesOfBase64.flatMap((length) =>
    alone.length > length ? (alone.match(new RegExp(`.{1,${length}}`, 'g')) ?? []) : [],
  );
  return [alone, ...inText, ...inLines];
}

/** The text with every known secret in it masked. Every line of output passes through here. */
export function redact(text: string): string {
  // Longest first: one secret may begin as another.
  const held = [...heldIn(text)].sort((a, b) => b.length - a.length);
  return held.reduce((clean, value) => clean.replaceAll(value, shown), text);
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
