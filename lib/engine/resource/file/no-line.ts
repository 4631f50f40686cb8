import { changesOfFile } from '../change.ts';
import { drift, ok, type Resource } from '../resource.ts';
import { editedText } from './edited-text.ts';

/** A line that another configuration put into a file of another program is removed, wherever it is. Other lines stay. */
export function noLine(path: string, text: string): Resource {
  const file = editedText(path);
  const without = (content: string) =>
    content
      .split('\n')
      .filter((each) => each !== text)
      .join('\n');
  return {
    name: `no line "${text}" in ${path}`,
    changes: changesOfFile(path),

    async check(host) {
      const was = await file.read(host);
      if (was === undefined || was === without(was)) return ok;
      return drift([{ what: 'content', was, wanted: without(was) }]);
    },

    // A file that is gone by now has no such line.
    apply: async (host) => void (await file.change(host, without)),
  };
}
