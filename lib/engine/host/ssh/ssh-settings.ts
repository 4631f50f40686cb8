/** What `ssh -G` prints: the values of each option, by its name in lower case. */
export type SshSettings = ReadonlyMap<string, readonly string[]>;

/**
 * @param text output of `ssh -G`; empty for none
 */
export function parseSshSettings(text: string): SshSettings {
  const values = new Map<string, string[]>();
  for (const line of text.split(/\r?\n/)) {
    const [, name, value] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const key = name.toLowerCase();
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return values;
}

/** Whether an option has another value than the usual one of that ssh. */
export function differs(settings: SshSettings, usual: SshSettings, option: string): boolean {
  return settings.get(option)?.join('\n') !== usual.get(option)?.join('\n');
}
