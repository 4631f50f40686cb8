import type { Reader } from '../../engine/host/host.ts';
import { askHttp } from '../../engine/resource/network/http.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { suggest } from '../../engine/text/suggest.ts';

/** A repository that answers at all does so quickly. Seconds. */
const answerLimit = 10;
/** A list of references has about 70 bytes for each. Bytes. */
const longestList = 4 * 1024 * 1024;
/** How many tags a message names. */
const mostTags = 8;

/**
 * Whether a Git repository has a tag or a branch, asked from the host before anything is built. A
 * commit is in no list: it is not looked for. So is nothing where the list cannot be read.
 *
 * @param repository as git takes it: an address, or a path on the host
 */
export async function repositoryHas(host: Reader, repository: string, ref: string): Promise<Verdict> {
  if (/^[0-9a-f]{7,64}$/.test(ref)) return ok;
  const list = await (isHttp.test(repository) ? listByHttp(host, repository) : listByGit(host, repository));
  const tags = namesIn(list, 'tags');
  const all = [...tags, ...namesIn(list, 'heads')];
  if (all.length === 0 || all.includes(ref) || all.includes(ref.replace(/^refs\/(?:tags|heads)\//, '')))
    return ok;
  const nearest = suggest(ref, tags);
  const shown = tags.toSorted(byVersion).slice(-mostTags);
  const some = nearest === undefined || shown.includes(nearest) ? shown : [nearest, ...shown];
  const rest = tags.length > some.length ? ' and others' : '';
  return drift(
    `it has no tag or branch ${ref}; it has ${[...(some.length > 0 ? some : all)].join(', ')}${rest}`,
  );
}

const isHttp = /^https?:/i;

const byVersion = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true });

/**
 * The first address that git requests. `user@host:path` is git's short form of an ssh address; a
 * plain path is on the host.
 */
export function gitAddress(repository: string): string {
  if (isHttp.test(repository)) return `${repository.replace(/\/$/, '')}/info/refs?service=git-upload-pack`;
  const [, short] = /^(?:[^@/]+@)?([^:/]+):(?!\/\/)/.exec(repository) ?? [];
  return short === undefined ? repository : `ssh://${short}`;
}

/**
 * The list that git asks for first: of a server of Git, or of one that serves the repository's
 * files.
 */
async function listByHttp(host: Reader, repository: string): Promise<string> {
  const answer = await askHttp(host, gitAddress(repository), { length: longestList, seconds: answerLimit });
  if (!answer.answered || answer.status === undefined || answer.status >= 300) return '';
  // A list that was cut may lack the reference.
  return answer.body.length < longestList ? answer.body.toString('latin1') : '';
}

/** By git itself, where the host has it already. */
async function listByGit(host: Reader, repository: string): Promise<string> {
  const list = await host.$({ timeoutSeconds: answerLimit })`
    command -v git >/dev/null && GIT_TERMINAL_PROMPT=0 GIT_SSH_COMMAND='ssh -o BatchMode=yes' git ls-remote --tags --heads -- ${repository}`;
  return list.ok ? list.stdout : '';
}

/**
 * The names of one kind in a list: `HASH refs/tags/NAME`, an annotated tag a second time with
 * `^{}` behind it.
 */
function namesIn(list: string, kind: 'tags' | 'heads'): string[] {
  const found = list.matchAll(new RegExp(`[0-9a-f]{40}[ \\t]refs/${kind}/([^\\s\\0^]+)`, 'g'));
  return [...new Set([...found].map(([, name = '']) => name))];
}
