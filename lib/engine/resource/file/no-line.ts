import { changesOfFile, drift, ok, type Resource } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { readText } from './edited-text.ts';

/**
 * The file of another program does not have this line, wherever in the file it was. Other lines
 * stay.
 *
 * @example noLine('/etc/hosts', '10.0.0.4 registry')
 */
export function noLine(path: string, text: string): Resource {
  refuseNoText('noLine', { path, text });
  return {
    name: `no line "${text}" in ${path}`,
    changes: changesOfFile(path),

    async check(host) {
      const file = await readText(host, path);
      const wanted = file?.text
        .split('\n')
        .filter((each) => each !== text)
        .join('\n');
      if (file === undefined || wanted === undefined || file.text === wanted) return ok;
      return drift([{ what: 'content', was: file.text, wanted }], [file.to(wanted)]);
    },
  };
}
