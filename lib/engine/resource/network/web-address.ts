/** An address as it may be shown: the query of a signed one is as good as a password. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '');
}

/**
 * An address as `curl --config -` reads it from its standard input: what stands in an argument list is seen by every user of a host.
 * To be used with --globoff, for it is no pattern.
 */
export function curlAddress(url: string): string {
  return `url="${url.replace(/[\\"]/g, '\\$&')}"`;
}
