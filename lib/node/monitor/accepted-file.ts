import { dirname } from 'node:path';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
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
  return {
    ...place,
    async apply(host) {
      await host.write(trial, text, { mode: 0o600, owner: 'root', group: 'root' });
      const verdict = await host.run({ allow: [0, 1, 2] })`${judge} ${trial}; code=$?; rm -f ${trial}; exit $code`;
      if (!verdict.ok) {
        const why = `${verdict.stdout}\n${verdict.stderr}`.replaceAll(trial, source).trim();
        throw new Problem(`${judge[0]} refuses ${source}, so ${path} is left as it is\n${why}`, {
          hint: `correct ${source}`,
          code: exitCode.failed,
        });
      }
      await place.apply(host);
    },
  };
}
