import { basename, dirname } from 'node:path';
import { command, type Step } from '../../host/step.ts';
import { Problem } from '../../problem/problem.ts';
import type { Resource } from '../resource.ts';
import type { Content } from './content.ts';
import { file } from './file.ts';

interface AcceptedFile {
  readonly path: string;
  readonly content: string | Content;
  /**
   * A command that reads the file at its path, given as the last word, and refuses a wrong one
   * with another exit code than 0.
   */
  readonly judge: readonly string[];
  /** The place of the content in the project, for a problem. */
  readonly source: string;
  /** Permission bits. Default as of `file`. */
  readonly mode?: number;
  /** Name of a group. Default root. */
  readonly group?: string;
}

/**
 * A file of root. It is put in place only after the program that will read the file has accepted
 * it: so a wrong file never replaces a right one.
 *
 * @example acceptedFile({
 *   path: '/etc/sudoers.d/deploy',
 *   content: 'deploy ALL=(ALL) NOPASSWD: ALL\n',
 *   judge: ['visudo', '--check', '--quiet', '--file'],
 *   source: 'roles/deploy-user.ts',
 *   mode: 0o440,
 * })
 */
export function acceptedFile({ path, content, judge, source, mode, group = 'root' }: AcceptedFile): Resource {
  // In the same folder: it may refer to others by relative paths. sudo and others leave out names
  // with a dot.
  const trial = `${dirname(path)}/.${basename(path)}.trial`;
  const text = typeof content === 'string' ? content : content.text;
  const plain = file(path).content(content).group(group);
  const place = mode === undefined ? plain : plain.mode(mode);
  const failure = {
    what: `${judge[0]} refuses ${source}, so ${path} is left as it is`,
    hint: `correct ${source}`,
  };
  const judged = command({ failure, rootsFolder: dirname(path) })`
    said=$(${judge} ${trial} 2>&1) && rm -f ${trial} && exit
    rm -f ${trial}
    printf '%s\\n' "$said" | sed ${`s,${trial},${source},g`} >&2
    exit 1`;
  return {
    ...place,
    async check(host) {
      const verdict = await place.check(host);
      if (verdict.is !== 'drift' || !verdict.change || verdict.change instanceof Problem) return verdict;
      const put: Step = {
        do: 'write',
        path: trial,
        content: text,
        secret: typeof content !== 'string',
        attributes: { mode: 0o600, owner: 'root', group: 'root' },
      };
      return { ...verdict, change: [put, judged, ...verdict.change] };
    },
  };
}
