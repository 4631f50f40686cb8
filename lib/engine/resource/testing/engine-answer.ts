/**
 * The answer of a Docker engine to `engineInfo`.
 *
 * @param said what differs from an engine with images whose data is in /data/docker
 */
export function engineAnswer(
  said: { readonly state?: string; readonly stored?: string; readonly place?: string } = {},
): string {
  const {
    state = 'false inactive',
    stored = '3 2 [[Backing Filesystem extfs]]',
    place = '/data/docker\n/data',
  } = said;
  return `${state}\n${stored}\n${place}\n`;
}
