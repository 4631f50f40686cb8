import { dirname } from 'node:path';
import { type Action, command } from '../../engine/host/action.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Content } from '../../engine/resource/file/content.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';

interface AcceptedFile {
  readonly path: string;
  readonly content: string | Content;
  /** A command that reads the file at its path, given as the last word, and refuses a wrong one. */
  readonly judge: readonly string[];
  /** The place of the file in this project, for a problem. */
  readonly source: string;
}

/**
 * A file that the user `prometheus` reads. It is put in place only after the program that will read it has accepted it, so that a wrong
 * one never replaces a right one.
 */
export function acceptedFile({ path, content, judge, source }: AcceptedFile): Resource {
  // In the same folder: it may refer to others by relative paths.
  const trial = `${dirname(path)}/.trial`;
  const text = typeof content === 'string' ? content : content.text;
  const place = file(path).content(content).mode(0o640).group('prometheus');
  const failure = { what: `${judge[0]} refuses ${source}, so ${path} is left as it is`, hint: `correct ${source}` };
  const judged = command({ failure })`
    said=$(${judge} ${trial} 2>&1) && rm -f ${trial} && exit
    rm -f ${trial}
    printf '%s\\n' "$said" | sed ${`s,${trial},${source},g`} >&2
    exit 1`;
  return {
    ...place,
    async check(host) {
      const verdict = await place.check(host);
      if (verdict.is !== 'drift' || !verdict.change || verdict.change instanceof Problem) return verdict;
      const put: Action = {
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
